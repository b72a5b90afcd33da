package capture

import (
	"errors"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/ipc"
)

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
		if reason == ipc.EndStopped {
			return // it may be back, and no frame has to be accounted for
		}
		m.Reason = ipc.EndWithoutFrames
	}
	if err := c.env.Publish(c.cfg.Name, ipc.KindEnd, &m); err != nil {
		c.env.Log.Debug("end of camera not announced", "camera", c.cfg.Name, "error", err)
	}
}
