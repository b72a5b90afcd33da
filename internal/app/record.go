package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
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
	watchRecording(ctx, screen, m, file)
	screen.clear()
	err = errors.Join(m.Close(), file.Close())
	lines, size := file.Lines()
	fmt.Printf("recorded %d frames (%.1f MB) in %s\n", lines, float64(size)/1e6, file.Path())
	return err
}

// watchRecording shows progress until ctx is done or the recording has failed.
func watchRecording(ctx context.Context, screen *screen, m *monitor.Monitor, file *recorder.File) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for file.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.Ledger.Settle(time.Now())
			screen.progress(m.Ledger.Summaries())
		}
	}
}
