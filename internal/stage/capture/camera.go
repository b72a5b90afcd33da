package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// camera brings the frames of one source into its ring.
type camera struct {
	env    *stage.Env
	cfg    config.Camera
	src    source.Source
	info   source.Info
	ring   gpuring.Writer
	server *ipc.Server
	pixels *ipc.Conn // the server's own connection: pixels for a slow consumer keep one busy
	flight *flight
	window int // frames under way at most; 0: capture does not wait

	gpus    *gpus
	gpu     *cuda.Context          // nil: the ring is in host memory
	noGPU   string                 // why; "" before the first ring
	running atomic.Pointer[string] // what telemetry says as long as frames come

	settled  chan struct{} // closed when the readers of the latest ring are attached, or are not waited for any more
	uninvite func()        // does not wait for them any more
	limits   limits
	leaving  []*farewell // of rings before this one

	nextSeq  uint64 // where a ring that follows a closed one goes on
	reached  int64  // the source position of the ring before
	watch    *watch // of a ring on the GPU; else nil
	position int64  // frames grabbed from the source
	lastSeq  uint64
	any      bool // at least one frame was captured
}

// openCamera opens a recorded source and its ring. A live camera is opened by run, which can wait for it. Frames are numbered from next on,
// or as the bucket has it if that is 0.
func openCamera(ctx context.Context, env *stage.Env, gpus *gpus, cfg config.Camera, next uint64) (*camera, error) {
	c := &camera{env: env, cfg: cfg, flight: newFlight(patience), gpus: gpus, limits: usual, uninvite: func() {}, nextSeq: next}
	running := "running"
	c.running.Store(&running)
	if source.IsLive(cfg.Source) {
		env.Telemetry.State(cfg.Name, "opening")
		return c, nil
	}
	return c, c.open(ctx)
}

func (c *camera) open(ctx context.Context) error {
	src, err := c.openSource(ctx)
	if err != nil {
		return permanentSource(err)
	}
	c.src, c.info = src, src.Info()
	if err := c.openRing(); err != nil {
		return err
	}
	if !c.info.Live && c.ring.Position() > 0 {
		c.position = c.ring.Position()
		if err := c.src.Skip(c.position); err != nil && !errors.Is(err, io.EOF) {
			return permanentSource(err)
		}
		c.env.Log.Info("source resumed", "camera", c.cfg.Name, "frame", c.position)
	}
	c.env.Telemetry.State(c.cfg.Name, *c.running.Load())
	c.env.Log.Info("camera open", "camera", c.cfg.Name, "source", c.info.Name, "width", c.info.Width, "height", c.info.Height,
		"format", c.info.Format, "fps", c.info.FPS, "ring", c.ring.ID())
	return nil
}

// openSource wraps the source in what its configuration asks for.
func (c *camera) openSource(ctx context.Context) (source.Source, error) {
	opts := source.Options{Width: c.cfg.Width, Height: c.cfg.Height, FPS: c.cfg.FPS, Logger: c.env.Log.With("camera", c.cfg.Name)}
	open := func(ctx context.Context) (source.Source, error) { return source.Open(ctx, c.cfg.Source, opts) }
	if source.IsLive(c.cfg.Source) {
		return source.NewReopener(ctx, source.ReopenOptions{Open: open, Notify: c.report, Logger: opts.Logger})
	}
	var src source.Source
	var err error
	if c.cfg.Loop {
		src, err = source.NewLoop(ctx, open)
	} else {
		src, err = open(ctx)
	}
	if err != nil {
		return nil, err
	}
	if c.cfg.Pace == "max" {
		c.window = window(c.env.Config)
		return src, nil
	}
	return source.Pace(src, c.cfg.FPS, nil), nil
}

// report shows what a live camera is doing.
func (c *camera) report(e source.Event) {
	switch e.State {
	case source.Back:
		c.env.Telemetry.State(c.cfg.Name, *c.running.Load())
	default:
		c.env.Telemetry.State(c.cfg.Name, fmt.Sprintf("%s: %v", e.State, e.Err))
	}
}

// setRunning says what telemetry shows as long as frames come; a live camera reports from a goroutine of its own.
func (c *camera) setRunning(state string) {
	c.running.Store(&state)
	c.env.Telemetry.State(c.cfg.Name, state)
}

func permanentSource(err error) error {
	for _, final := range []error{
		source.ErrNotFound, source.ErrPermission, source.ErrCorrupt, source.ErrUnsupported, source.ErrSpec,
	} {
		if errors.Is(err, final) {
			return stage.Permanent(err)
		}
	}
	return err
}

// Close gives the ring and the source back.
func (c *camera) Close() error {
	c.uninvite()
	var err error
	if c.server != nil { // nobody copies any more
		err = c.server.Close()
		c.server = nil
	}
	if c.ring != nil {
		c.leaveLastRing()
	}
	err = errors.Join(err, c.settle())
	c.closeGPU()
	if c.pixels != nil {
		err = errors.Join(err, c.pixels.Close())
		c.pixels = nil
	}
	if c.src != nil {
		err = errors.Join(err, c.src.Close())
		c.src = nil
	}
	return err
}

// run captures until the source ends or ctx is done, announces the end and lets the last frames pass.
func (c *camera) run(ctx context.Context) error {
	reason, err := c.loop(ctx)
	if err != nil {
		return err
	}
	c.end(reason)
	// The stages behind still read this ring. ctx may be done already: the wait is bounded by patience.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	c.flight.wait(drain, 1)
	return nil
}

func (c *camera) loop(ctx context.Context) (reason string, err error) {
	if c.src == nil {
		if err := c.open(ctx); err != nil {
			if ctx.Err() != nil {
				return stopReason(ctx), nil
			}
			return "", err
		}
	}
	if !c.info.Live {
		select {
		case <-c.settled:
		case <-ctx.Done():
		}
	}
	parent := ctx
	if c.cfg.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.cfg.Duration*float64(time.Second)))
		defer cancel()
	}
	for {
		if c.window > 0 {
			c.flight.wait(ctx, c.window)
		}
		at, err := c.src.Grab(ctx)
		switch {
		case ctx.Err() != nil:
			return stopReason(parent), nil
		case err == nil && c.info.Live && c.readersAwaited():
			// A live camera goes on while its readers attach: frames that nobody takes would come late, with wrong stamps.
		case err == nil:
			if err := c.frame(ctx, at); err != nil {
				return "", err
			}
		case errors.Is(err, io.EOF):
			return c.endOfSource(), nil
		case errors.Is(err, source.ErrGeometry):
			if err := c.renewRing(); err != nil {
				return "", err
			}
		case errors.Is(err, source.ErrCorrupt):
			c.env.Log.Error("source ends early", "camera", c.cfg.Name, "error", err)
			return ipc.EndCorrupt, nil
		default:
			return "", err
		}
	}
}

// readersAwaited tells that no frame was captured yet, and that it is too early for the first.
func (c *camera) readersAwaited() bool {
	select {
	case <-c.settled:
		return false
	default:
		return !c.any
	}
}

// endOfSource tells a recording that was cut off: the decoder of video files cannot tell that from its end. The
// announced number of frames is an estimate.
func (c *camera) endOfSource() string {
	if announced := c.info.Frames; announced > 0 && c.position < int64(announced)*9/10 {
		return fmt.Sprintf("early end: %d of about %d frames", c.position, announced)
	}
	return ipc.EndOfSource
}

// stopReason tells a camera whose time is over from a process that was told to stop.
func stopReason(process context.Context) string {
	if errors.Is(context.Cause(process), errRemoved) {
		return ipc.EndRemoved
	}
	if process.Err() != nil {
		return ipc.EndStopped
	}
	return "duration is over"
}
