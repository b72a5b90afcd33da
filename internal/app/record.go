package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// RecordCmd writes the tracks of a running rig to a file.
type RecordCmd struct {
	BusFlags
	File     string        `arg:"" type:"path" help:"New file, one JSON line a frame."`
	Duration time.Duration `help:"Stop after this time, as 60s; without it Ctrl-C stops."`
}

// Run is `facetrack record`.
func (c *RecordCmd) Run(ctx context.Context) (err error) {
	screen := newScreen(os.Stderr, false)
	log := newLogger(screen, "warn")
	nc, err := ipc.Connect(c.NATS, "facetrack-record", log)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	if c.Duration < 0 {
		return fmt.Errorf("--duration=%s: it must not be negative", c.Duration)
	}
	cameras, err := runningCameras(nc, c.Rig)
	if err != nil {
		return err
	}
	file, err := recorder.Create(c.File)
	if err != nil {
		return err
	}
	m, err := monitor.Start(nc.Conn, c.Rig, file, log)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	watchRecording(ctx, screen, m, file, cameras)
	screen.clear()
	err = errors.Join(m.Close(), file.Close())
	lines, size := file.Lines()
	fmt.Printf("recorded %d frames (%.1f MB) in %s\n", lines, float64(size)/1e6, file.Path())
	return err
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
		return nil, fmt.Errorf("no camera of rig %q runs: start it with facetrack up, or name the rig with --rig", rig)
	}
	return cameras, nil
}

// watchRecording shows progress until ctx is done, all cameras have ended or the recording has failed.
func watchRecording(ctx context.Context, screen *screen, m *monitor.Monitor, file *recorder.File, cameras []string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for file.Err() == nil {
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
