package capture

import (
	"context"
	"errors"
	"os"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

func (c *camera) openRing() error {
	cfg := c.env.Config
	c.recall()
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

// recall finds out where the camera's numbers go on when capture was ended in order and started again.
func (c *camera) recall() {
	if c.env.Bucket == nil || c.nextSeq > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch state, err := c.env.Bucket.Ring(ctx, c.cfg.Name); {
	case err == nil:
		c.nextSeq = state.NextSeq
	case !errors.Is(err, ipc.ErrNoKey):
		c.env.Log.Warn("the ring before is not known: frames are numbered from 0", "camera", c.cfg.Name, "error", err)
	}
}

// remember stores the ring's state in the rig's bucket, for people and for recall: consumers learn it by attaching.
func (c *camera) remember(open bool) {
	if c.env.Bucket == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	host, _ := os.Hostname() // "" when it has none
	err := c.env.Bucket.PutRing(ctx, ipc.RingState{
		Camera: c.cfg.Name, Ring: c.ring.ID(), Generation: c.ring.Generation(), Geometry: c.ring.Geometry(),
		Host: host, PID: os.Getpid(), Open: open, WallNS: clock.Wall(), NextSeq: c.ring.Stats().NextSeq,
	})
	if err != nil {
		c.env.Log.Debug("ring state not stored", "camera", c.cfg.Name, "error", err)
	}
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

// renewRing makes a ring of the camera's new geometry; consumers attach to it by themselves. Sequence numbers go on.
func (c *camera) renewRing() error {
	c.info, c.nextSeq = c.src.Info(), c.ring.Stats().NextSeq
	if err := c.closeRing(); err != nil {
		c.env.Log.Warn("old ring did not close", "camera", c.cfg.Name, "error", err)
	}
	return c.openRing()
}
