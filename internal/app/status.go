package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// BusFlags say where a running rig is found.
type BusFlags struct {
	NATS string `name:"nats" default:"nats://127.0.0.1:4222" env:"FACETRACK_NATS" help:"NATS server of the rig."`
	Rig  string `default:"lab" env:"FACETRACK_RIG" help:"Name of the rig."`
	AccessFlags
}

// StatusCmd shows what the processes of a rig are doing.
type StatusCmd struct {
	BusFlags
	JSON bool          `name:"json" help:"Print JSON."`
	Wait time.Duration `default:"2s" help:"How long to wait for answers."`
}

// Run is `facetrack status`.
func (c *StatusCmd) Run(ctx context.Context) error {
	if c.Wait < 0 {
		return fmt.Errorf("--wait=%s: it must not be negative", c.Wait)
	}
	nc, err := dial(c.NATS, "facetrack-status", auth.Reader, c.access(), slog.New(slog.DiscardHandler)) // one line is enough to say what is wrong
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	all, err := monitor.Status(nc.Conn, c.Rig, stage.Names, c.Wait)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if err := denied(nc, c.Rig); err != nil {
			return err
		}
		return fmt.Errorf("no process of rig %q answers on %s: start it with facetrack up, or name the rig with --rig", c.Rig, c.NATS)
	}
	inOrder(all)
	others, err := askHosts(nc.Conn, c.hosts(ctx, nc.Conn, all), c.Wait)
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(append(ofRig("", all), listed(others)...))
	}
	printStatus(os.Stdout, all)
	printHosts(os.Stdout, others)
	return nil
}

// inOrder puts the stages in the order of the data flow.
func inOrder(all []telemetry.Stats) {
	slices.SortFunc(all, func(a, b telemetry.Stats) int {
		return slices.Index(stage.Names, a.Stage) - slices.Index(stage.Names, b.Stage)
	})
}

func printStatus(out io.Writer, all []telemetry.Stats) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "stage\tpid\tcamera\tframes\tfaces\tdropped\twork ms mean\tp99\tage ms p50\tp99\tpixels by")
	for _, s := range all {
		if len(s.Cameras) == 0 {
			_, _ = fmt.Fprintf(w, "%s\t%d\t-\t0\t0\t0\n", s.Stage, s.PID)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Cameras)) {
			c := s.Cameras[name]
			_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", s.Stage, s.PID, name, c.Frames, c.Faces,
				total(c.Dropped), c.WorkMS.Mean, c.WorkMS.P99, c.AgeMS.P50, c.AgeMS.P99, pixelsBy(c))
		}
	}
	_ = w.Flush()
	printConfiguration(out, all)
	for _, s := range all {
		if n := s.Streams; n != nil {
			_, _ = fmt.Fprintf(out, "%s: %d LSL streams, %d readers, %d samples lost by readers that are too slow\n", s.Stage, n.Open, n.Readers, n.Lost)
		}
		if s.Model != "" {
			_, _ = fmt.Fprintf(out, "%s: %s\n", s.Stage, modelLine(s.Model, s.Chosen))
		}
		switch {
		case s.Because != "":
			_, _ = fmt.Fprintf(out, "%s: networks run on %s: %s\n", s.Stage, s.Backend, oneLine(errors.New(s.Because)))
		case s.Backend != "":
			_, _ = fmt.Fprintf(out, "%s: networks run on %s\n", s.Stage, s.Backend)
		}
	}
}

// printConfiguration tells which revision is in effect, and who has another one, or has refused a later one.
func printConfiguration(out io.Writer, all []telemetry.Stats) {
	latest := uint64(0)
	for _, s := range all {
		latest = max(latest, s.Config.Revision)
	}
	if latest > 0 {
		_, _ = fmt.Fprintf(out, "configuration: revision %d\n", latest)
	}
	for _, s := range all {
		switch c := s.Config; {
		case c.Refused != "":
			_, _ = fmt.Fprintf(out, "%s: configuration revision %d, as it refuses %d: %s\n", s.Stage, c.Revision, c.Later, oneLine(errors.New(c.Refused)))
		case c.Revision < latest && c.Revision == 0:
			_, _ = fmt.Fprintf(out, "%s: configuration of a file\n", s.Stage)
		case c.Revision < latest:
			_, _ = fmt.Fprintf(out, "%s: configuration revision %d\n", s.Stage, c.Revision)
		}
	}
}

// modelLine names a model, and why it is that one.
func modelLine(name, reason string) string {
	if reason == "" {
		return "model " + name
	}
	return fmt.Sprintf("model %s: %s", name, oneLine(errors.New(reason)))
}

func total(dropped map[string]uint64) (n uint64) {
	for _, v := range dropped {
		n += v
	}
	return n
}
