package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"

	"facetrack/internal/lslbench"
	"facetrack/internal/version"
)

// BenchLSLCmd measures what LSL outlets cost the process that has them.
type BenchLSLCmd struct {
	Participants int           `default:"64" help:"Each with three streams of float32: 54 (FaceExpression), 12 (MoCap) and 19 (Gaze) channels."`
	Rate         float64       `default:"60" help:"Samples per second of each stream."`
	Readers      int           `default:"1" help:"Of each stream, in a process of their own."`
	Duration     time.Duration `default:"30s" help:"How long each run takes."`
	LibLSL       string        `name:"liblsl" type:"existingfile" placeholder:"FILE" help:"Measure this liblsl beside ours; needs gcc."`
	Out          string        `type:"path" placeholder:"FILE.json" help:"Write the raw numbers."`
	Most         float64       `name:"most" placeholder:"PERCENT" help:"Fail when our outlets take more of one core, or a sample is lost."`
	Send         []string      `hidden:"" help:"Be the sender (used by 'bench lsl')."`
	Read         bool          `hidden:"" help:"Be the reader (used by 'bench lsl')."`
	Asks         bool          `hidden:"" help:"As the reader, look for streams."`
}

// LSLResult is the content of docs/benchmarks/lsl.json.
type LSLResult struct {
	Commit  string            `json:"commit"`
	Date    time.Time         `json:"date"`
	Machine Machine           `json:"machine"`
	Runs    []lslbench.Result `json:"runs"`
}

// Run is `facetrack bench lsl`.
func (b *BenchLSLCmd) Run(ctx context.Context) error {
	switch {
	case len(b.Send) > 0:
		runtime.GOMAXPROCS(1)
		return lslbench.Send(ctx, b.Send, os.Stdin, os.Stdout)
	case b.Read:
		return lslbench.Read(ctx, b.Readers, b.Asks, os.Stdin, os.Stdout)
	}
	if b.Participants < 1 || b.Rate <= 0 || b.Readers < 1 || b.Duration <= 0 {
		return errors.New("--participants, --rate, --readers and --duration must be more than nothing")
	}
	if err := claimOut("--out", b.Out); err != nil {
		return err
	}
	result := LSLResult{Commit: version.Commit(), Date: time.Now().UTC(), Machine: machine()}
	if err := b.measure(ctx, &result); err != nil {
		return err
	}
	result.print(os.Stdout)
	if err := writeOut(b.Out, result); err != nil {
		return err
	}
	return b.verdict(result)
}

// measure lets the senders take turns with the same load.
func (b *BenchLSLCmd) measure(ctx context.Context, result *LSLResult) error {
	if b.LibLSL == "" {
		fmt.Fprintln(os.Stderr, "bench: without --liblsl FILE, the real library is not measured")
	}
	for _, run := range []struct {
		sender       string
		inStep, asks bool
	}{
		{"facetrack", false, false}, {"liblsl", false, false}, {"facetrack", true, false}, {"liblsl", true, false}, {"facetrack", false, true},
	} {
		if run.sender == "liblsl" && b.LibLSL == "" {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s, in step: %v, asked: %v …\n", run.sender, run.inStep, run.asks)
		load := lslbench.Load{Participants: b.Participants, Rate: b.Rate, Readers: b.Readers, InStep: run.inStep, Duration: b.Duration}
		r, err := b.run(ctx, run.sender, load, run.asks)
		if err != nil {
			return fmt.Errorf("%s: %w", run.sender, err)
		}
		r.Sender = run.sender
		result.Runs = append(result.Runs, r)
	}
	return nil
}

func (b *BenchLSLCmd) run(ctx context.Context, sender string, load lslbench.Load, asks bool) (lslbench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return lslbench.Result{}, err
	}
	read := exec.CommandContext(ctx, self, "bench", "lsl", "--read", "--readers", strconv.Itoa(load.Readers), "--asks="+strconv.FormatBool(asks)) //nolint:gosec // this program
	send := exec.CommandContext(ctx, self, append([]string{"bench", "lsl"}, load.Flags()...)...)                                                  //nolint:gosec // this program
	if sender == "liblsl" {
		dir, err := os.MkdirTemp("", "facetrack-bench-")
		if err != nil {
			return lslbench.Result{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if send, err = lslbench.LibrarySender(ctx, dir, b.LibLSL, load); err != nil {
			return lslbench.Result{}, err
		}
	}
	read.Stderr = os.Stderr
	if sender == "facetrack" { // the library tells every step
		send.Stderr = os.Stderr
	}
	return lslbench.Run(ctx, load, asks, send, read)
}

func (b *BenchLSLCmd) verdict(result LSLResult) error {
	var errs []error
	for _, r := range result.Runs {
		if b.Most > 0 && r.Sender == "facetrack" && (r.CPU > b.Most || r.Lost != 0) {
			errs = append(errs, fmt.Errorf("in step: %v, asked: %v: %.1f %% of a core, %d samples lost; at most %g %% and none were allowed", r.Load.InStep, r.Asked, r.CPU, r.Lost, b.Most))
		}
	}
	return errors.Join(errs...)
}

func (r LSLResult) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s, %d cores, Linux %s, %s, commit %s\n\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel, r.Machine.Go, r.Commit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "outlets of\tstreams\treaders of each\tsamples come\tasked\t% of a core\tµs a sample\tsent\treceived\tlost\tpush→reader ms p50\tp99\tmax\tfiles")
	for _, run := range r.Runs {
		asked := "no"
		if run.Asked {
			asked = fmt.Sprintf("%d answers", run.Answers)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%.1f\t%.2f\t%d\t%d\t%d\t%.2f\t%.2f\t%.1f\t%d\n", run.Sender, run.Streams, run.Load.Readers,
			map[bool]string{true: "in step", false: "spread"}[run.Load.InStep], asked, run.CPU, run.PerSample, run.Sent, run.Received, run.Lost,
			run.DelayMS.P50, run.DelayMS.P99, run.DelayMS.Max, run.Files)
	}
	_ = w.Flush()
}
