package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"facetrack/gpuring"
)

// leaveRing takes the ring from its names and from the bus, which waits for nobody, and begins its farewell. The next ring goes on
// with its sequence numbers.
func (c *camera) leaveRing() *farewell {
	c.nextSeq, c.reached = c.ring.Stats().NextSeq, c.ring.Position()
	c.remember(false, c.limits.note)
	return c.partRing()
}

// leaveLastRing does the same with the camera's last one. Where its numbers cannot be stored, the server being away or its disk full, the
// control block keeps them for a process that follows. None does when who started this one is gone: nothing is to be left behind then.
func (c *camera) leaveLastRing() {
	c.nextSeq, c.reached = c.ring.Stats().NextSeq, c.ring.Position()
	if !c.remember(false, c.limits.note) && getppid() == parent {
		c.ring.Bequeath()
	}
	c.partRing()
}

// parent is who has started this process. Tests replace getppid.
var parent, getppid = os.Getppid(), os.Getppid

func (c *camera) partRing() *farewell {
	if c.server != nil {
		c.server.Leave()
	}
	if err := c.ring.Retire(); err != nil {
		c.env.Log.Warn("old ring not retired", "camera", c.cfg.Name, "ring", c.ring.ID(), "error", err)
	}
	c.watch.stop()
	f := c.part(c.ring, c.gpu)
	c.ring, c.gpu, c.watch = nil, nil, nil
	return f
}

// renewRing makes a ring of the camera's new geometry, with the GPU if it works now; consumers attach to it by themselves.
func (c *camera) renewRing() error {
	c.info = c.src.Info()
	_ = c.settle() // it has told; one farewell at a time: each has memory
	c.leaveRing()
	c.noGPU = ""
	return c.openRing()
}

// rescue goes on in a ring without the GPU, which fails or hangs.
func (c *camera) rescue(cause error) error {
	_ = c.settle() // it has told
	f := c.leaveRing()
	if hanging := (hang{}); errors.As(cause, &hanging) {
		c.giveUpGPU(c.gpus.hang(f, cause))
	} else {
		c.giveUpGPU(c.gpus.tell("capture's GPU failed", cause))
	}
	return c.openRing()
}

// checkUploads rescues the camera from a GPU that takes uploads and ends none.
func (c *camera) checkUploads() error {
	late := c.ring.UploadStall()
	if late < c.limits.stall {
		return nil
	}
	return c.rescue(hang{fmt.Sprintf("the GPU has not finished an upload for %.1f s", late.Seconds())})
}

// publishAgain rescues the camera from a GPU that has failed, with the frame that was to be uploaded.
func (c *camera) publishAgain(pixels []byte, seq uint64, cause error) (gpuring.Ticket, error) {
	pixels = bytes.Clone(pixels) // they go with the old ring
	if err := c.rescue(cause); err != nil {
		return gpuring.Ticket{}, err
	}
	claim, err := c.ring.Begin()
	if err != nil {
		return gpuring.Ticket{}, err
	}
	copy(claim.View().Host, pixels)
	return claim.Publish(seq)
}

// giveUpGPU lets go of a GPU that cannot be used; the next ring is in host memory.
func (c *camera) giveUpGPU(why string) {
	c.noGPU = why
	c.setRunning("running without the GPU: " + why)
	c.closeGPU()
}

func (c *camera) closeGPU() {
	if err := c.gpu.Close(); err != nil {
		c.env.Log.Debug("GPU not closed", "camera", c.cfg.Name, "error", err)
	}
	c.gpu = nil
}
