package main

import (
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/source"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// stand is a witness and a ring that it looks at.
type stand struct {
	t    *testing.T
	w    *witness
	link *ipc.Link
	ring gpuring.Writer
	src  source.Source
}

func newStand(t *testing.T) *stand {
	t.Helper()
	p, err := clipParams(0)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, src: source.NewSynthetic(p)}
	bus := stagetest.NewBus(t)
	s.ring, err = gpuring.Create(gpuring.Options{
		Dir: t.TempDir(), Rig: stagetest.Rig, Camera: fileCamera(0), Logger: stagetest.Quiet,
		Geometry: gpuring.Geometry{Width: clipWidth, Height: clipHeight, Format: gpuring.NV12, Slots: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ring.Close() })
	server, err := ipc.NewServer(bus.NC.Conn, stagetest.Rig, fileCamera(0), s.ring, stagetest.Quiet, ipc.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s.w = &witness{nc: bus.NC, rig: stagetest.Rig, seen: Testimony{Refused: map[string]int{}}}
	s.link, err = ipc.NewLink(bus.NC.Conn, stagetest.Rig, fileCamera(0), "witness", ipc.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.link.Close() })
	return s
}

// publish writes the next drawing, and says that it is the one at a place.
func (s *stand) publish(place int64) ipc.Frame {
	s.t.Helper()
	claim, err := s.ring.Begin()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err = s.src.Grab(s.t.Context()); err == nil {
		err = s.src.Retrieve(claim.View().Host)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ticket, err := claim.Publish(s.ring.NextSeq())
	if err != nil {
		s.t.Fatal(err)
	}
	return ipc.Frame{
		Camera: fileCamera(0), Seq: ticket.Seq, Ring: ticket.RingID, Slot: ticket.Slot, Generation: ticket.Generation,
		Width: clipWidth, Height: clipHeight, Format: string(gpuring.NV12), MediaNS: (place + 1) * int64(time.Second) / clipRate,
	}
}

func TestWitness(t *testing.T) {
	s := newStand(t)
	old := s.publish(0)
	s.w.look(s.link, old)
	s.w.look(s.link, s.publish(1))
	if s.w.seen.Checked != 2 || len(s.w.seen.Torn) > 0 || len(s.w.seen.Refused) > 0 {
		t.Fatalf("two whole frames: %+v", s.w.seen)
	}
	s.w.look(s.link, s.publish(3)) // which is the third
	if s.w.seen.Checked != 2 || len(s.w.seen.Torn) != 1 {
		t.Errorf("a frame that shows another: %+v", s.w.seen)
	}
	for place := range int64(4) {
		s.publish(place)
	}
	s.w.look(s.link, old)
	if s.w.seen.Refused["overwritten"] != 1 || len(s.w.seen.Torn) != 1 {
		t.Errorf("a frame that is gone: %+v", s.w.seen)
	}
	var all Testimony
	all.add(s.w.seen)
	all.add(s.w.seen)
	if all.Checked != 4 || len(all.Torn) != 2 || all.Refused["overwritten"] != 2 {
		t.Errorf("both of two: %+v", all)
	}
}
