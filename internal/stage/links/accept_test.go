package links

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
)

// withoutGPU leaves the driver to the tests on a GPU, which load it once.
func withoutGPU(c *config.Config) { c.CUDA.GPU = "off" }

// Who accepts invitations is attached before the first frame, to each ring of a camera.
func TestAcceptAttachesBeforeFrames(t *testing.T) {
	r := newRig(t)
	set := r.setWith(withoutGPU)
	if err := set.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := set.env.Bus.Flush(); err != nil {
		t.Fatal(err)
	}
	invite := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), stagetest.Deadline)
		defer cancel()
		if absent, err := r.Server.Invite(ctx, r.Writer.ID(), []string{set.env.Name}); err != nil {
			t.Fatalf("%v: %v", absent, err)
		}
	}
	invite()
	for range 2 {
		if f := r.publish(); !set.Prompt(&f) {
			t.Error("not attached before the first frame")
		}
		if err := errors.Join(r.Server.Close(), r.Writer.Close()); err != nil {
			t.Fatal(err)
		}
		r.start()
		invite()
	}
}

// A stage that is started again attaches to the cameras that run before it takes their frames.
func TestAcceptAttachesToCamerasThatRun(t *testing.T) {
	r := newRig(t)
	set := r.setWith(func(c *config.Config) {
		withoutGPU(c)
		c.Cameras = []config.Camera{{Name: stagetest.Camera}, {Name: "away"}} // the second has no capture, which is known at once
	})
	f := r.publish()
	if err := set.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !set.Prompt(&f) {
		t.Error("not attached to the camera that runs")
	}
}

// An invitation to a ring that is gone is answered, with the reason.
func TestAcceptAnswersAlways(t *testing.T) {
	r := newRig(t)
	set := r.setWith(withoutGPU)
	link, err := set.link(r.publish().Camera)
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Attach(t.Context(), "another"); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("attached to a ring that is not there: %v", err)
	}
	if err := set.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stagetest.Deadline)
	defer cancel()
	if err := set.env.Bus.Flush(); err != nil {
		t.Fatal(err)
	}
	if absent, err := r.Server.Invite(ctx, "yet-another", []string{set.env.Name}); err != nil {
		t.Errorf("no answer: %v, %v", absent, err)
	}
	if err := errors.Join(set.Close(), set.env.Bus.Flush()); err != nil {
		t.Error(err)
	}
	if absent, err := r.Server.Invite(ctx, r.Writer.ID(), []string{set.env.Name}); err == nil {
		t.Errorf("a closed set answers: %v", absent)
	}
}

// A camera of another process's share is not attached to.
func TestAcceptLeavesTheOthersCamerasAlone(t *testing.T) {
	r := newRig(t)
	set := r.setWith(withoutGPU)
	set.env.Share = stage.NewShare(nil)
	if err := errors.Join(set.env.Share.Take("mine"), set.Accept(t.Context()), set.env.Bus.Flush()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if absent, err := r.Server.Invite(ctx, r.Writer.ID(), []string{set.env.Name}); err == nil {
		t.Errorf("it came; absent: %v", absent)
	}
	if f := r.publish(); set.Prompt(&f) {
		t.Error("attached to another process's camera")
	}
}
