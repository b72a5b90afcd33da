package capture

import (
	"context"
	"errors"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/cuda"
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
		return c.lasting(err)
	}
	if c.pixels == nil {
		if c.pixels, err = c.env.Dial("facetrack-pixels-" + c.cfg.Name); err != nil {
			return errors.Join(err, ring.Close())
		}
	}
	if c.server == nil {
		c.server, err = ipc.NewServer(c.pixels.Conn, c.env.Config.Rig, c.cfg.Name, ring, c.env.Log, ipc.ServerOptions{NoGPU: c.noGPU})
		if err != nil {
			return errors.Join(err, ring.Close())
		}
	} else {
		c.server.Serve(ring, c.noGPU)
	}
	c.ring = ring
	if c.gpu != nil {
		c.watch = newWatch(ring, c.limits.call, c.stuck)
	}
	c.showRing()
	c.remember(true, patience)
	c.invite()
	return nil
}

// invite has the stages that read pixels attach to the ring, beside what this process does meanwhile.
func (c *camera) invite() {
	c.uninvite()
	server, ring, settled := c.server, c.ring.ID(), make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), c.limits.guests)
	c.settled, c.uninvite = settled, func() {
		cancel()
		<-settled
	}
	go func() {
		defer close(settled)
		if absent, err := server.Invite(ctx, ring, stage.Readers); err != nil {
			c.env.Log.Debug("frames come before all stages are attached", "camera", c.cfg.Name, "absent", absent, "error", err)
		}
	}()
}

// lasting marks an error that a restart does not cure. Where there was a ring before, its readers let go of it sooner or later.
func (c *camera) lasting(err error) error {
	before := c.pixels != nil
	if errors.Is(err, gpuring.ErrCrowded) || before && errors.Is(err, gpuring.ErrNoSpace) {
		return err
	}
	return stage.Permanent(err)
}

func (c *camera) createRing() (gpuring.Writer, error) {
	if c.noGPU == "" {
		c.gpu, c.noGPU = c.gpus.open(c.env.Config.GPUOf(c.cfg))
	}
	ring, err := c.create()
	if errors.Is(err, gpuring.ErrDevice) {
		c.giveUpGPU(c.gpus.tell("capture's GPU cannot hold the ring", err))
		ring, err = c.create()
	}
	if err == nil && c.gpu != nil {
		c.setRunning("running")
	}
	return ring, err
}

// create makes a ring. Where there is no room for it beside the one before, that one goes first.
func (c *camera) create() (gpuring.Writer, error) {
	ring, err := c.gpus.create(c.ringOptions())
	if len(c.leaving) == 0 || !errors.Is(err, gpuring.ErrNoSpace) && !errors.Is(err, cuda.OutOfMemory) {
		return ring, err
	}
	_ = c.settle() // it has told
	if why := c.gpus.hanging(); why != "" && c.gpu != nil {
		c.giveUpGPU(why)
	}
	return c.gpus.create(c.ringOptions())
}

func (c *camera) ringOptions() gpuring.Options {
	cfg := c.env.Config
	return gpuring.Options{
		Dir: cfg.Ring.Dir, Rig: cfg.Rig, Camera: c.cfg.Name, Logger: c.env.Log, FirstSeq: c.nextSeq, Position: c.reached, GPU: c.gpu,
		Geometry: gpuring.Geometry{Width: c.info.Width, Height: c.info.Height, Format: gpuring.Format(c.info.Format), Slots: cfg.Ring.Slots},
		MinSlots: depth(cfg.Ring.MinSlots, c.window, cfg.Ring.Slots), Group: cfg.IPC.Group,
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

// remember stores the ring's state in the rig's bucket, for people and for recall: consumers learn it by attaching. It tells whether it is
// stored, or nothing is.
func (c *camera) remember(open bool, within time.Duration) bool {
	if c.env.Bucket == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	host, _ := os.Hostname() // "" when it has none
	err := c.env.Bucket.PutRing(ctx, ipc.RingState{
		Camera: c.cfg.Name, Ring: c.ring.ID(), Generation: c.ring.Generation(), Geometry: c.ring.Geometry(),
		Host: host, PID: os.Getpid(), Open: open, WallNS: clock.Wall(), NextSeq: c.ring.Stats().NextSeq,
	})
	if err != nil {
		c.env.Log.Debug("ring state not stored", "camera", c.cfg.Name, "error", err)
	}
	return err == nil
}
