package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Flags of this program.
type Flags struct {
	Program  string        `required:"" type:"existingfile" help:"The facetrack program."`
	For      time.Duration `default:"3m" help:"How long things go wrong; the rig starts before and ends after."`
	Seed     uint64        `default:"1" help:"What the plan is drawn from."`
	JSON     string        `name:"json" type:"path" placeholder:"FILE" help:"Write the report here."`
	Markdown string        `type:"path" placeholder:"FILE" help:"Write the report for people here."`
	Plan     bool          `help:"Print the plan and do nothing."`
	Keep     string        `type:"path" placeholder:"DIR" help:"Keep the logs in this new folder."`
	Port     int           `default:"21700" help:"First port to try."`
}

func main() {
	if what := os.Getenv(busVariable); what != "" {
		exitWith(serveBus(what))
	}
	if what := os.Getenv(witnessVariable); what != "" {
		exitWith(serveWitness(what))
	}
	if threads := os.Getenv(burnVariable); threads != "" {
		exitWith(burn(threads))
	}
	var flags Flags
	kong.Parse(&flags, kong.Name("chaos"), kong.Description("Does to a running rig what happens to rigs, and looks on."))
	if flags.Plan {
		for _, s := range plan(flags.Seed, flags.For) {
			fmt.Printf("%8.1f s  %s\n", s.At.Seconds(), (&Event{Step: s}).name())
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	report, err := run(ctx, &flags, log)
	if err == nil {
		err = report.write(flags.JSON, flags.Markdown)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
		os.Exit(2)
	}
	fmt.Print(report.markdown())
	if len(report.Violations) > 0 {
		os.Exit(1)
	}
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %v\n", err)
		os.Exit(2)
	}
	os.Exit(0)
}

// errEarly says that the rig was not there to be tried.
var errEarly = errors.New("the rig does not come up")
