package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/config"
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

	nextSeq  uint64 // where a ring of another geometry goes on
	position int64  // frames grabbed from the source
	lastSeq  uint64
	any      bool // at least one frame was captured
}

// openCamera opens a recorded source and its ring. A live camera is opened by run, which can wait for it.
func openCamera(ctx context.Context, env *stage.Env, cfg config.Camera) (*camera, error) {
	c := &camera{env: env, cfg: cfg, flight: newFlight(patience)}
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
	c.env.Telemetry.State(c.cfg.Name, "running")
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
		c.env.Telemetry.State(c.cfg.Name, "running")
	default:
		c.env.Telemetry.State(c.cfg.Name, fmt.Sprintf("%s: %v", e.State, e.Err))
	}
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

func (c *camera) openRing() error {
	cfg := c.env.Config
	ring, err := gpuring.Create(gpuring.Options{
		Dir: cfg.Ring.Dir, Rig: cfg.Rig, Camera: c.cfg.Name, Logger: c.env.Log, FirstSeq: c.nextSeq,
		Geometry: gpuring.Geometry{Width: c.info.Width, Height: c.info.Height, Format: gpuring.Format(c.info.Format), Slots: cfg.Ring.Slots},
	})
	if err != nil {
		return stage.Permanent(err)
	}
	if c.pixels == nil {
		if c.pixels, err = c.env.Dial("facetrack-pixels-" + c.cfg.Name); err != nil {
			return errors.Join(err, ring.Close())
		}
	}
	server, err := ipc.NewServer(c.pixels.Conn, cfg.Rig, c.cfg.Name, ring, c.env.Log, ipc.ServerOptions{})
	if err != nil {
		return errors.Join(err, ring.Close())
	}
	c.ring, c.server = ring, server
	c.env.Telemetry.SetRing(c.cfg.Name, func() any { return ring.Stats() })
	c.remember(true)
	return nil
}

// remember stores the ring's state in the rig's bucket, for people: consumers learn it by attaching.
func (c *camera) remember(open bool) {
	if c.env.Bucket == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	host, _ := os.Hostname() // "" when it has none
	err := c.env.Bucket.PutRing(ctx, ipc.RingState{
		Camera: c.cfg.Name, Ring: c.ring.ID(), Generation: c.ring.Generation(), Geometry: c.ring.Geometry(),
		Host: host, PID: os.Getpid(), Open: open, WallNS: clock.Wall(),
	})
	if err != nil {
		c.env.Log.Debug("ring state not stored", "camera", c.cfg.Name, "error", err)
	}
}

// Close gives the ring and the source back.
func (c *camera) Close() error {
	err := c.closeRing()
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

func (c *camera) closeRing() error {
	if c.ring == nil {
		return nil
	}
	c.remember(false)
	err := errors.Join(c.server.Close(), c.ring.Close())
	c.ring, c.server = nil, nil
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
				return ipc.EndStopped, nil
			}
			return "", err
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
		case err == nil:
			c.frame(at)
		case errors.Is(err, io.EOF):
			return "end of source", nil
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

// stopReason tells a camera whose time is over from a process that was told to stop.
func stopReason(process context.Context) string {
	if process.Err() != nil {
		return ipc.EndStopped
	}
	return "duration is over"
}

// renewRing makes a ring of the camera's new geometry; consumers attach to it by themselves. Sequence numbers go on.
func (c *camera) renewRing() error {
	c.info, c.nextSeq = c.src.Info(), c.ring.Stats().NextSeq
	if err := c.closeRing(); err != nil {
		c.env.Log.Warn("old ring did not close", "camera", c.cfg.Name, "error", err)
	}
	return c.openRing()
}

// frame brings the grabbed frame into the ring and announces it, or drops and counts it.
func (c *camera) frame(at int64) {
	begin := clock.Now()
	f := ipc.Frame{
		Camera: c.cfg.Name, Seq: c.ring.NextSeq(), CaptureNS: at, WallNS: clock.Wall() - (clock.Now() - at),
		Ring: c.ring.ID(), Width: c.info.Width, Height: c.info.Height, Format: c.info.Format, Ack: true,
	}
	if !c.info.Live && c.info.FPS > 0 {
		f.MediaNS = int64(float64(c.position+1) * 1e9 / c.info.FPS)
	}
	c.position++
	c.lastSeq, c.any = f.Seq, true
	reason, err := c.publish(&f)
	c.ring.SetPosition(c.position)
	if reason != "" {
		c.env.Log.Debug("frame dropped", "camera", f.Camera, "seq", f.Seq, "reason", reason, "error", err)
		c.env.Drop(f, reason)
		return
	}
	c.env.Telemetry.Frame(f.Camera, 0, clock.Since(begin), clock.Since(at))
}

func (c *camera) publish(f *ipc.Frame) (dropReason string, err error) {
	claim, err := c.ring.Begin()
	if errors.Is(err, gpuring.ErrNoFreeSlot) {
		return reasonNoFreeSlot, err
	}
	if err != nil {
		return reasonRing, err
	}
	if err := c.src.Retrieve(claim.View().Host); err != nil {
		claim.Abort()
		return reasonDecode, err
	}
	ticket, err := claim.Publish(f.Seq)
	if err != nil {
		return reasonRing, err
	}
	f.Slot, f.Generation, f.Stamps.Capture = ticket.Slot, ticket.Generation, clock.Now()
	c.flight.add(f.Seq)
	if err := c.env.Publish(f.Camera, ipc.KindFrame, f); err != nil {
		c.flight.done(f.Seq)
		return reasonBus, err
	}
	return "", nil
}

// end announces that no more frames come.
func (c *camera) end(reason string) {
	c.env.Telemetry.State(c.cfg.Name, "ended: "+reason)
	if c.any && c.env.Ended != nil {
		c.env.Ended(c.cfg.Name, c.lastSeq)
	}
	c.env.Log.Info("camera ended", "camera", c.cfg.Name, "reason", reason)
	m := ipc.End{Camera: c.cfg.Name, LastSeq: c.lastSeq, Reason: reason}
	if !c.any {
		m.Reason = ipc.EndWithoutFrames
	}
	if err := c.env.Publish(c.cfg.Name, ipc.KindEnd, &m); err != nil {
		c.env.Log.Debug("end of camera not announced", "camera", c.cfg.Name, "error", err)
	}
}
