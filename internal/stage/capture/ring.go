package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// RingStatus is what telemetry shows of a camera's ring.
type RingStatus struct {
	gpuring.Stats
	Ring  string `json:"ring"`
	GPU   string `json:"gpu_uuid,omitempty"` // that holds the frames, too
	NoGPU string `json:"no_gpu,omitempty"`   // why none does
}

// openRing makes the camera's ring, on the GPU if it may (noGPU is empty) and can, and serves it.
func (c *camera) openRing() error {
	c.recall()
	ring, err := c.createRing()
	if err != nil {
		return stage.Permanent(err)
	}
	if c.pixels == nil {
		if c.pixels, err = c.env.Dial("facetrack-pixels-" + c.cfg.Name); err != nil {
			return errors.Join(err, ring.Close())
		}
	}
	server, err := ipc.NewServer(c.pixels.Conn, c.env.Config.Rig, c.cfg.Name, ring, c.env.Log, ipc.ServerOptions{NoGPU: c.noGPU})
	if err != nil {
		return errors.Join(err, ring.Close())
	}
	c.ring, c.server = ring, server
	c.showRing()
	c.remember(true)
	return nil
}

func (c *camera) createRing() (gpuring.Writer, error) {
	if c.gpu == nil && c.noGPU == "" {
		c.gpu, c.noGPU = c.gpus.open()
	}
	ring, err := gpuring.Create(c.ringOptions())
	if err == nil && c.gpu != nil {
		c.setRunning("running")
	}
	if errors.Is(err, gpuring.ErrDevice) {
		c.giveUpGPU("capture's GPU cannot hold the ring", err)
		ring, err = gpuring.Create(c.ringOptions())
	}
	return ring, err
}

func (c *camera) ringOptions() gpuring.Options {
	cfg := c.env.Config
	return gpuring.Options{
		Dir: cfg.Ring.Dir, Rig: cfg.Rig, Camera: c.cfg.Name, Logger: c.env.Log, FirstSeq: c.nextSeq, GPU: c.gpu,
		Geometry: gpuring.Geometry{Width: c.info.Width, Height: c.info.Height, Format: gpuring.Format(c.info.Format), Slots: cfg.Ring.Slots},
		MinSlots: depth(cfg.Ring.MinSlots, c.window, cfg.Ring.Slots),
	}
}

// depth is how deep a ring is at least. With pace "max" frames that wait in a queue, where nobody holds them yet,
// must not be overwritten either: the whole window fits, and two more for writing and reading ahead.
func depth(least, window, slots int) int {
	if window > 0 {
		least = max(least, window+2)
	}
	return min(least, slots)
}

// showRing puts the ring into telemetry.
func (c *camera) showRing() {
	ring, s := c.ring, RingStatus{Ring: c.ring.ID(), NoGPU: c.noGPU}
	if c.gpu != nil {
		s.GPU = c.gpu.Device().UUID.String()
	}
	c.env.Telemetry.SetRing(c.cfg.Name, func() any {
		now := s
		now.Stats = ring.Stats()
		return now
	})
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
	err := errors.Join(c.server.Close(), c.ring.Retire())
	old := c.ring
	c.ring, c.server = nil, nil
	c.farewell.Wait() // one at a time: each has device memory
	c.farewell.Go(func() {
		if err := old.Close(); err != nil {
			c.env.Log.Warn("old ring did not close", "camera", c.cfg.Name, "ring", old.ID(), "error", err)
		}
	})
	return err
}

// endRing closes the ring; the next one goes on with its sequence numbers.
func (c *camera) endRing() {
	c.nextSeq = c.ring.Stats().NextSeq
	if err := c.closeRing(); err != nil {
		c.env.Log.Warn("old ring did not close", "camera", c.cfg.Name, "error", err)
	}
}

// renewRing makes a ring of the camera's new geometry, with the GPU if it works now; consumers attach to it by themselves.
func (c *camera) renewRing() error {
	c.info = c.src.Info()
	c.endRing()
	c.noGPU = ""
	return c.openRing()
}

// stalled looks whether the GPU still works when there is no free slot. If it has not for so long that it never will, capture goes
// on in a ring without it.
func (c *camera) stalled() (dropReason string, err error) {
	after := c.stall.seen(c.ring.Stats(), time.Now())
	switch {
	case after < c.stall.noticed:
		return reasonNoFreeSlot, gpuring.ErrNoFreeSlot
	case after < c.stall.hopeless:
		return reasonGPUStalled, gpuring.ErrNoFreeSlot
	}
	cause := fmt.Errorf("%w: no upload has ended for %.1f s", gpuring.ErrDevice, after.Seconds())
	c.endRing()
	c.giveUpGPU("capture's GPU stands still", cause)
	return reasonGPUStalled, errors.Join(cause, c.openRing())
}

// rescue goes on in a ring without the GPU, which has failed; the frame that was to be uploaded comes along.
func (c *camera) rescue(ctx context.Context, pixels []byte, seq uint64, cause error) (gpuring.Ticket, error) {
	if c.window > 0 {
		c.flight.wait(ctx, 1) // a recorded source can wait until nobody reads the old ring any more
	}
	pixels = bytes.Clone(pixels) // they go with the old ring
	c.endRing()
	c.giveUpGPU("capture's GPU failed", cause)
	if err := c.openRing(); err != nil {
		return gpuring.Ticket{}, err
	}
	claim, err := c.ring.Begin()
	if err != nil {
		return gpuring.Ticket{}, err
	}
	copy(claim.View().Host, pixels)
	return claim.Publish(seq)
}

// giveUpGPU lets go of a GPU that fails and keeps the reason, so that the next ring is in host memory.
func (c *camera) giveUpGPU(what string, err error) {
	c.noGPU = c.gpus.tell(what, err)
	c.setRunning("running without the GPU: " + c.noGPU)
	c.closeGPU()
}

func (c *camera) closeGPU() {
	if c.gpu == nil {
		return
	}
	if err := c.gpu.Close(); err != nil {
		c.env.Log.Debug("GPU not closed", "camera", c.cfg.Name, "error", err)
	}
	c.gpu = nil
}
