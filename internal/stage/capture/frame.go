package capture

import (
	"context"
	"errors"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/ipc"
)

// frame brings the grabbed frame into the ring and announces it, or drops and counts it. An error means that the
// camera has no ring any more.
func (c *camera) frame(ctx context.Context, at int64) error {
	begin := clock.Now()
	f := ipc.Frame{
		Camera: c.cfg.Name, Seq: c.ring.NextSeq(), CaptureNS: at, WallNS: clock.Wall() - (clock.Now() - at),
		Width: c.info.Width, Height: c.info.Height, Format: c.info.Format, Ack: true,
	}
	if !c.info.Live && c.info.FPS > 0 {
		f.MediaNS = int64(float64(c.position+1) * 1e9 / c.info.FPS)
	}
	c.position++
	c.lastSeq, c.any = f.Seq, true
	reason, err := c.publish(ctx, &f)
	if reason != "" {
		c.env.Log.Debug("frame dropped", "camera", f.Camera, "seq", f.Seq, "reason", reason, "error", err)
		c.env.Drop(f, reason)
	} else {
		c.env.Telemetry.Frame(f.Camera, 0, clock.Since(begin), clock.Since(at))
	}
	if c.ring == nil {
		return err
	}
	c.ring.SetPosition(c.position)
	return nil
}

func (c *camera) publish(ctx context.Context, f *ipc.Frame) (dropReason string, err error) {
	ticket, dropReason, err := c.write(ctx, f.Seq)
	if err != nil {
		return dropReason, err
	}
	f.Ring, f.Slot, f.Generation, f.Stamps.Capture = ticket.RingID, ticket.Slot, ticket.Generation, clock.Now()
	c.flight.add(f.Seq)
	if err := c.env.Publish(f.Camera, ipc.KindFrame, f); err != nil {
		c.flight.done(f.Seq)
		return reasonBus, err
	}
	return "", nil
}

// write brings the pixels of the grabbed frame into a slot.
func (c *camera) write(ctx context.Context, seq uint64) (t gpuring.Ticket, dropReason string, err error) {
	claim, err := c.begin(ctx)
	if errors.Is(err, gpuring.ErrNoFreeSlot) {
		dropReason, err = c.stalled()
		return t, dropReason, err
	}
	if err != nil {
		return t, reasonRing, err
	}
	pixels := claim.View().Host
	if err := c.src.Retrieve(pixels); err != nil {
		claim.Abort()
		return t, reasonDecode, err
	}
	if t, err = claim.Publish(seq); errors.Is(err, gpuring.ErrDevice) {
		t, err = c.rescue(ctx, pixels, seq, err)
	}
	return t, reasonRing, err
}

// begin claims a slot. With pace "max" it waits for one: frames that have left the last stage may still be on their way
// to the GPU, which tells nobody when it has taken them.
func (c *camera) begin(ctx context.Context) (gpuring.Claim, error) {
	const pause = time.Millisecond
	for end := time.Now().Add(patience); c.window > 0 && !c.ring.Ready() && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(pause)
	}
	return c.ring.Begin()
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
		if reason == ipc.EndStopped {
			return // it may be back, and no frame has to be accounted for
		}
		m.Reason = ipc.EndWithoutFrames
	}
	if err := c.env.Publish(c.cfg.Name, ipc.KindEnd, &m); err != nil {
		c.env.Log.Debug("end of camera not announced", "camera", c.cfg.Name, "error", err)
	}
}
