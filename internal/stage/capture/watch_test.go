package capture

import (
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/stage/stagetest"
)

// A driver that keeps the camera's own goroutine costs the process, which somebody starts again.
func TestCallThatDoesNotComeBack(t *testing.T) {
	r, _ := newRigWithGPU(t)
	leave, ended := make(chan struct{}), make(chan int, 1)
	defer func(before func(int)) { exit = before }(exit)
	exit = func(code int) { ended <- code }
	r.gpus.create = func(o gpuring.Options) (gpuring.Writer, error) {
		o.Fill = func(*cuda.Stream, gpuring.View, uint64) error { <-leave; return nil }
		return gpuring.Create(o)
	}
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = c.info
	c.limits.call = 200 * time.Millisecond
	if err := c.renewRing(); err != nil { // from now on the limit counts
		t.Fatal(err)
	}
	src.step(1)
	at, err := src.Grab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan error, 1)
	go func() { came <- c.frame(t.Context(), at) }()
	if code := stagetest.Next(t, ended); code == 0 {
		t.Error("the process says that all is well")
	}
	close(leave)
	r.mustEnd(came)
	select {
	case <-ended:
		t.Error("told twice")
	default:
	}
}

// The orderly end of a camera has its time, also without a bus.
func TestOrderlyEndHasItsTime(t *testing.T) {
	const granted, rest = 5 * time.Second, 200 * time.Millisecond // by facetrack up and the units of systemd; for all that is quick
	if all := patience + usual.note + usual.goodbye; all > granted-rest {
		t.Errorf("%v, granted are %v", all, granted)
	}
}
