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
	defer c.env.Vigil.Begin()()
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
	claim, err := c.claim(ctx)
	if errors.Is(err, gpuring.ErrNoFreeSlot) {
		return t, c.whyNoSlot(), err
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
		t, err = c.publishAgain(pixels, seq, err)
	}
	return t, reasonRing, err
}

// claim takes a slot, of a new ring when the GPU hangs. With pace "max" it waits for one: frames that have left the last stage
// may still be on their way to the GPU. It looks again and again, because a slot gets free in two ways, by the GPU and by other
// processes, and neither tells; at a millisecond it costs no frame, for all slots are free again by then.
func (c *camera) claim(ctx context.Context) (gpuring.Claim, error) {
	const pause = time.Millisecond
	for end := time.Now().Add(c.limits.stall); ; time.Sleep(pause) {
		late := c.window == 0 || ctx.Err() != nil || time.Now().After(end)
		if err := c.checkUploads(); err != nil {
			return nil, err
		}
		if late || c.ring.Ready() {
			return c.ring.Begin()
		}
	}
}

// whyNoSlot tells frames that are dropped because of the GPU from those that are because of consumers.
func (c *camera) whyNoSlot() (dropReason string) {
	if s := c.ring.Stats(); s.UploadPending > s.Held {
		return reasonGPUStalled
	}
	return reasonNoFreeSlot
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
