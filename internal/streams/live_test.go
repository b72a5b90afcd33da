package streams

import (
	"errors"
	"testing"

	"facetrack/internal/config"
)

// The streams of a camera that is removed are closed, with the events that say so; when it is back they open anew.
func TestForgottenCamera(t *testing.T) {
	s, k, _ := newSet(t, "cameras: [{name: a, source: x}, {name: b, source: y}]\nlsl: {slots: 1}\n")
	must(t, s.Tracks(frame("a", 1, face(1, ""))))
	must(t, s.Tracks(frame("b", 1)))
	must(t, s.Forget("a"))
	must(t, s.Forget("nobody"))
	closed := k.streams["a face 1 expression"]
	if !closed.closed || k.streams["b face 1 expression"].closed || len(s.open) == len(k.streams) {
		t.Errorf("closed: a %v, b %v; %d of %d are open", closed.closed, k.streams["b face 1 expression"].closed, len(s.open), len(k.streams))
	}
	expectEvents(t, k, "100.10 participant_appears aa:1 #1", "100.10 camera_lost a #1 removed", "100.10 participant_lost aa:1 #1 camera_lost")
	for _, name := range []string{"expression", "head", "gaze"} {
		delete(k.streams, "a face 1 "+name)
	}
	must(t, s.Tracks(frame("a", 2)))
	if again := k.streams["a face 1 expression"]; again == nil || len(again.rows) != 1 || again.closed {
		t.Error("no streams for a camera that is back")
	}
}

// lsl.max_slots counts for the next who is seen, and an added camera has its own configuration.
func TestConfigure(t *testing.T) {
	s, k, _ := newSet(t, "cameras: [{name: b, source: y}]\nlsl: {slots: 1, max_slots: 1}\n")
	if err := s.Tracks(frame("b", 1, face(2, ""))); !errors.Is(err, ErrTooMany) {
		t.Errorf("a second: %v", err)
	}
	next := s.cfg
	next.LSL.MaxSlots = 2
	next.Cameras = append([]config.Camera{{Name: "c", Source: "z", LatencyMS: 20}}, next.Cameras...)
	s.Configure(next)
	must(t, s.Tracks(frame("b", 2, face(2, ""))))
	must(t, s.Tracks(frame("c", 1)))
	if k.streams["b face 2 expression"] == nil {
		t.Error("no streams for the second")
	}
	if c := s.cameras["c"]; c.cfg.LatencyMS != 20 {
		t.Errorf("the added camera is %+v", c.cfg)
	}
}
