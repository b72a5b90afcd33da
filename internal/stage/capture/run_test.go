package capture

import (
	"context"
	"errors"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

func TestRunNeedsACamera(t *testing.T) {
	if err := Run(t.Context(), newRig(t).env); !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("no camera: %v", err)
	}
}

func TestRunNamesTheCameraThatFails(t *testing.T) {
	r := newRig(t, drawn("synthetic:faces=0,frames=1,size=160x120", "max"), config.Camera{Name: "left", Source: "synthetic:nonsense=1", Pace: "max"})
	err := Run(t.Context(), r.env)
	if !errors.Is(err, stage.ErrPermanent) || !errors.Is(err, source.ErrSpec) || err.Error()[:12] != "camera left:" {
		t.Errorf("run: %v", err)
	}
}

// The stage ends when all its cameras have ended and their frames are through.
func TestRunEndsWithItsSources(t *testing.T) {
	right := drawn("synthetic:faces=0,frames=9,size=160x120", "max")
	right.Name = "right"
	r := newRig(t, drawn("synthetic:faces=0,frames=5,size=160x120", "max"), right)
	ready := make(chan struct{})
	r.env.Ready = func() { close(ready) }
	ended := r.run(t.Context(), func(ctx context.Context) error { return Run(ctx, r.env) })
	stagetest.Next(t, ready)
	got := map[string]uint64{}
	for range 14 {
		f := stagetest.Next(t, r.frames)
		if f.Seq != got[f.Camera] {
			t.Errorf("frame %d of %s, want %d", f.Seq, f.Camera, got[f.Camera])
		}
		got[f.Camera]++
		r.ack(f)
	}
	last := map[string]uint64{}
	for range 2 {
		end := stagetest.Next(t, r.ends)
		last[end.Camera] = end.LastSeq
	}
	r.mustEnd(ended)
	if got["cam0"] != 5 || got["right"] != 9 || last["cam0"] != 4 || last["right"] != 8 {
		t.Errorf("frames %v, ends %v", got, last)
	}
}

func TestDurationEndsACamera(t *testing.T) {
	cam := drawn("synthetic:faces=0,size=160x120,fps=100", "realtime")
	cam.Duration = 0.05
	r := newRig(t, cam)
	ended := r.run(t.Context(), func(ctx context.Context) error { return Run(ctx, r.env) })
	for running := true; running; {
		select {
		case f := <-r.frames:
			r.ack(f)
		case err := <-ended:
			if running = false; err != nil {
				t.Error(err)
			}
		}
	}
	if end := stagetest.Next(t, r.ends); end.Reason != "duration is over" && end.Reason != ipc.EndWithoutFrames {
		t.Errorf("end %+v", end)
	}
}

// A live camera that is away keeps neither the stage from starting nor from stopping.
func TestAbsentLiveCameraIsWaitedFor(t *testing.T) {
	cam := drawn("/dev/video4711", "realtime")
	r := newRig(t, cam)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	r.env.Ready = func() { close(ready) }
	ended := r.run(ctx, func(ctx context.Context) error { return Run(ctx, r.env) })
	select {
	case <-ready:
	case err := <-ended: // this build cannot read cameras, and says that a restart does not help
		if !errors.Is(err, source.ErrUnsupported) || !errors.Is(err, stage.ErrPermanent) {
			t.Fatal(err)
		}
		cancel()
		return
	}
	cancel()
	if err := stagetest.Next(t, ended); err != nil && !errors.Is(err, source.ErrUnsupported) {
		t.Error(err)
	}
}
