package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"

	"facetrack/internal/auth"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/internal/top"
	"facetrack/ipc"
)

// TopCmd shows a rig live in a terminal.
type TopCmd struct {
	BusFlags
	Interval time.Duration `default:"1s" help:"How often to ask."`
	Once     bool          `help:"Print tables of one interval and end."`
	Plain    bool          `help:"Print tables again and again instead of drawing on the terminal; so it is where there is none, or TERM is dumb."`
}

// leastInterval is as often as a rig may be asked.
const leastInterval = 100 * time.Millisecond

// Run is `facetrack top`.
func (c *TopCmd) Run(ctx context.Context) error {
	if c.Interval < leastInterval {
		return fmt.Errorf("--interval=%s: it must be %s at least", c.Interval, leastInterval)
	}
	connect := func(as string) (*ipc.Conn, error) {
		return dial(c.NATS, as, auth.Reader, c.access(), slog.New(slog.DiscardHandler)) // what is wrong is shown, not logged
	}
	if err := c.admitted(connect); err != nil {
		return err
	}
	model, watcher := top.New(c.Rig, c.NATS), top.NewWatcher(connect, c.Rig, c.Interval)
	if c.Once || c.Plain || !drawable() {
		return top.Print(ctx, os.Stdout, model, watcher, c.Once)
	}
	screen, err := tcell.NewScreen()
	if err != nil { // nobody knows how to draw on it
		fmt.Fprintf(os.Stderr, "facetrack: tables instead of a screen: %s\n", oneLine(err))
		return top.Print(ctx, os.Stdout, model, watcher, false)
	}
	return top.Show(ctx, screen, model, watcher)
}

// admitted finds out whether the server refuses this reader. One that is not there is waited for, which is no refusal.
func (c *TopCmd) admitted(connect func(as string) (*ipc.Conn, error)) error {
	nc, err := connect("facetrack-top")
	if err != nil {
		if lasting(err) {
			return err
		}
		return nil
	}
	defer func() { _ = nc.Close() }()
	if err := nc.PublishRequest(telemetry.StatusSubject(c.Rig, stage.Capture), nc.NewInbox(), nil); err != nil {
		return nil
	}
	if err := nc.FlushTimeout(time.Second); err != nil {
		return nil
	}
	return denied(nc, c.Rig)
}

// drawable tells whether standard output is a terminal that can do more than print.
func drawable() bool {
	_, err := unix.IoctlGetTermios(int(os.Stdout.Fd()), unix.TCGETS)
	kind := os.Getenv("TERM")
	return err == nil && kind != "" && kind != "dumb"
}
