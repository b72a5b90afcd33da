package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// RecordCmd writes what a running rig finds to files.
type RecordCmd struct {
	BusFlags
	File     string        `arg:"" optional:"" type:"path" placeholder:"FILE.jsonl" help:"New file, one JSON line a frame."`
	XDF      string        `name:"xdf" type:"path" placeholder:"FILE.xdf" help:"New file with the streams that LSL readers get, as LabRecorder writes them."`
	Config   string        `type:"path" help:"Configuration file, for --xdf; without it the configuration that 'facetrack up' has stored is used."`
	Duration time.Duration `help:"Stop after this time, as 60s; without it Ctrl-C stops."`
}

// recordings are the files of a run; each may be nil.
type recordings struct {
	lines *recorder.File
	xdf   *xdfFile
}

// Run is `facetrack record`.
func (c *RecordCmd) Run(ctx context.Context) (err error) {
	screen := newScreen(os.Stderr, false)
	log := newLogger(screen, "warn")
	nc, err := dial(c.NATS, "facetrack-record", auth.Reader, c.access(), log)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	cameras, err := runningCameras(nc, c.Rig)
	if err != nil {
		return err
	}
	var files recordings
	if c.XDF != "" {
		if files.xdf, err = c.startXDF(ctx, nc, log); err != nil {
			return err
		}
	}
	if c.File != "" {
		if files.lines, err = recorder.Create(c.File); err != nil {
			return errors.Join(err, files.discard())
		}
	}
	m, err := monitor.Start(nc.Conn, c.Rig, files.lines, log)
	if err != nil {
		return errors.Join(err, files.discard())
	}
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	watchRecording(ctx, screen, m, files, cameras)
	screen.clear()
	err = errors.Join(m.Close(), files.close())
	files.report()
	return err
}

// Validate finds flags that do not go together; it is called by the parser.
func (c *RecordCmd) Validate() error {
	switch {
	case c.Duration < 0:
		return fmt.Errorf("--duration=%s: it must not be negative", c.Duration)
	case c.File == "" && c.XDF == "":
		return errors.New("no file: name a new FILE.jsonl, or --xdf FILE.xdf, or both")
	case c.File == c.XDF:
		return fmt.Errorf("both recordings are %s: choose two names", c.File)
	}
	return nil
}

// runningCameras are the cameras of a rig that runs.
func runningCameras(nc *ipc.Conn, rig string) ([]string, error) {
	all, err := monitor.Status(nc.Conn, rig, []string{stage.Capture}, statusWait)
	if err != nil {
		return nil, err
	}
	var cameras []string
	for _, s := range all {
		cameras = slices.AppendSeq(cameras, maps.Keys(s.Cameras))
	}
	if len(cameras) == 0 {
		if err := denied(nc, rig); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("no camera of rig %q runs: start it with facetrack up, or name the rig with --rig", rig)
	}
	return cameras, nil
}

func (f recordings) close() error {
	var errs []error
	if f.lines != nil {
		errs = append(errs, f.lines.Close())
	}
	if f.xdf != nil {
		errs = append(errs, f.xdf.Close())
	}
	return errors.Join(errs...)
}

// discard closes and removes recordings that were never begun.
func (f recordings) discard() error {
	errs := []error{f.close()}
	if f.lines != nil {
		errs = append(errs, os.Remove(f.lines.Path()))
	}
	if f.xdf != nil {
		errs = append(errs, f.xdf.discard())
	}
	return errors.Join(errs...)
}

func (f recordings) report() {
	if f.lines != nil {
		lines, size := f.lines.Lines()
		fmt.Printf("recorded %d frames (%.1f MB) in %s\n", lines, float64(size)/1e6, f.lines.Path())
	}
	if f.xdf != nil {
		fmt.Printf("recorded %d samples in %s\n", f.xdf.writer.Samples(), f.xdf.path)
	}
}

// stopped tells that nothing is recorded any more.
func (f recordings) stopped() bool {
	return (f.lines == nil || f.lines.Err() != nil) && (f.xdf == nil || f.xdf.Err() != nil)
}

// watchRecording shows progress until ctx is done, all cameras have ended or every recording has failed.
func watchRecording(ctx context.Context, screen *screen, m *monitor.Monitor, files recordings, cameras []string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !files.stopped() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if m.Ledger.Settle(time.Now()) == 0 && m.Ledger.AllEnded(cameras) {
				return
			}
			screen.progress(m.Ledger.Summaries())
		}
	}
}
