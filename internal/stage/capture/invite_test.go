package capture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// invited is a camera whose readers have been invited, and the invitation.
func (r *rig) invited(guests time.Duration) (*camera, *stepped, *nats.Msg) {
	r.T.Helper()
	invitations := make(chan *nats.Msg, 8)
	_, err := r.NC.ChanSubscribe(ipc.AllCameras(stagetest.Rig, ipc.KindInvite), invitations)
	if err = errors.Join(err, r.NC.Flush()); err != nil {
		r.T.Fatal(err)
	}
	defer func(before time.Duration) { usual.guests = before }(usual.guests)
	usual.guests = guests
	c := r.camera(drawn("synthetic:faces=0,frames=2,size=160x120,fps=100", "realtime"))
	return c, c.replace(r.T.(*testing.T)), stagetest.Next(r.T, invitations)
}

func (r *rig) answer(invitation *nats.Msg, reader string) {
	r.T.Helper()
	if err := (ipc.Arrival{Identity: reader}).Answer(invitation); err != nil {
		r.T.Fatal(err)
	}
}

// The frames of a live camera are taken and left while its readers attach; with the last of them the first one comes.
func TestFirstFrameWaitsForAllReaders(t *testing.T) {
	r := newRig(t)
	c, src, invitation := r.invited(stagetest.Deadline)
	c.info.Live = true
	grabs := make(chan bool, 1024)
	src.onGrab = func() { grabs <- true }
	ctx, cancel := context.WithCancel(t.Context())
	ended := r.run(ctx, c.run)
	stagetest.Next(t, grabs)
	for _, reader := range stage.Readers {
		src.step(2)
		stagetest.Next(t, grabs)
		stagetest.Next(t, grabs) // both are done with
		if c.any {
			t.Fatalf("a frame was captured before %s had answered", reader)
		}
		r.answer(invitation, reader)
	}
	stagetest.Next(t, c.settled)
	src.step(1)
	f := stagetest.Next(t, r.frames)
	if f.Seq != 0 {
		t.Errorf("the first frame is number %d", f.Seq)
	}
	r.ack(f)
	cancel()
	r.mustEnd(ended)
}

// A recording begins when its readers have attached, or when they have had their time.
func TestRecordingWaitsForReaders(t *testing.T) {
	for name, answers := range map[string][]string{"all come": stage.Readers, "one never comes": stage.Readers[:1]} {
		t.Run(name, func(t *testing.T) {
			const patience = 300 * time.Millisecond
			r := newRig(t)
			c, src, invitation := r.invited(patience)
			begin := time.Now() // the invitation may be older by some moments
			grabbed := make(chan time.Duration, 1024)
			src.onGrab = func() { grabbed <- time.Since(begin) }
			ctx, cancel := context.WithCancel(t.Context())
			ended := r.run(ctx, c.run)
			for _, reader := range answers {
				r.answer(invitation, reader)
			}
			took := stagetest.Next(t, grabbed)
			if len(answers) < len(stage.Readers) && took < patience*2/3 {
				t.Errorf("it began after %v", took)
			}
			cancel()
			r.mustEnd(ended)
		})
	}
}

// A camera that closes waits for no readers, and leaves nobody behind who does.
func TestCloseEndsInvitation(t *testing.T) {
	r := newRig(t)
	c, _, _ := r.invited(time.Hour)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	stagetest.Next(t, c.settled)
}
