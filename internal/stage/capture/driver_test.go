//go:build !gpu

package capture

import (
	"errors"
	"strings"
	"testing"
	"time"

	"facetrack/internal/stage/stagetest"
)

// A driver that does not come back keeps neither the next ring from being made, without the GPU, nor the camera from its end.
// (A real driver may keep the gate from being opened.)
func TestDriverThatHangs(t *testing.T) {
	r, gpu := newRigWithGPU(t)
	g := newGate(t, gpu)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	c.limits.goodbye = 10 * time.Millisecond
	hanging, err := gpu.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hanging.Close() })
	if err := g.wait(hanging); err != nil { // memory is not freed while a stream hangs
		t.Fatal(err)
	}
	renew := func() *farewell {
		t.Helper()
		if err := c.renewRing(); err != nil {
			t.Fatal(err)
		}
		return c.leaving[0]
	}
	f := renew()
	if s := r.ringStatus(); s.GPU == "" {
		t.Errorf("nobody knows yet that the driver hangs: %+v", s)
	}
	second := renew()
	if s := r.ringStatus(); s.GPU != "" || !strings.Contains(s.NoGPU, "the driver has not freed ring "+f.ring.ID()) {
		t.Errorf("ring %+v", s)
	}
	r.grab(c, src)
	r.ack(r.next(0))
	if err := c.Close(); !errors.As(err, new(hang)) {
		t.Errorf("Close: %v; want to hear of the ring that is left behind", err)
	}
	g.open(t)
	for _, f := range []*farewell{f, second} {
		if stagetest.Next(t, f.over); f.err != nil || !f.ended() {
			t.Errorf("once the driver is back: %v", f.err)
		}
	}
	if why := r.gpus.hanging(); why != "" {
		t.Errorf("once the driver is back: %s", why)
	}
}
