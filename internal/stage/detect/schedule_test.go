package detect

import (
	"reflect"
	"testing"

	"facetrack/internal/config"
	"facetrack/ipc"
)

func TestSchedule(t *testing.T) {
	s := newSchedule(5, nil)
	var got []uint64
	for seq := uint64(100); seq < 120; seq++ {
		if seq == 107 {
			s.lost("a")
		}
		if s.due("a", seq) {
			got = append(got, seq)
		}
	}
	if want := []uint64{100, 105, 107, 110, 115}; !reflect.DeepEqual(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
	if !s.due("b", 3) {
		t.Error("the first frame of another camera is not looked at")
	}
	if !s.due("a", 0) {
		t.Error("a camera whose numbers began anew is not looked at")
	}
}

// Cameras that run in step are looked at in turn.
func TestScheduleSpreadsCameras(t *testing.T) {
	var cameras []config.Camera
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		cameras = append(cameras, config.Camera{Name: name})
	}
	s := newSchedule(3, cameras)
	for seq := range uint64(12) {
		looked := 0
		for _, c := range cameras {
			if s.due(c.Name, seq) {
				looked++
			}
		}
		if want := 2; seq >= 3 && looked != want || seq == 0 && looked != len(cameras) {
			t.Errorf("frame %d: %d of %d cameras are looked at", seq, looked, len(cameras))
		}
	}
}

// A frame that will only be passed on is known before its turn, and asking changes nothing.
func TestIdleFrames(t *testing.T) {
	s := newSchedule(3, nil)
	frame := func(seq uint64, ns int64) ipc.Frame { return ipc.Frame{Camera: "a", Seq: seq, CaptureNS: ns} }
	for seq, ns := range []int64{9e9, 9e9 + 1, 9e9 + 2, 9e9 + 3, 9e9 + 4, 9e9 + 5 + ipc.FollowNS} {
		f := frame(uint64(seq), ns)
		for range 2 {
			if idle := s.idle(f); idle != (seq == 1 || seq == 2 || seq == 4) {
				t.Errorf("frame %d: idle %v", seq, idle)
			}
		}
		s.turn(&f)
	}
	if s.lost("a"); s.idle(frame(6, 9e9+6+ipc.FollowNS)) {
		t.Error("idle although somebody was lost")
	}
}

func TestScheduleSurvivesMissingFrames(t *testing.T) {
	s := newSchedule(3, nil)
	var got []uint64
	for _, seq := range []uint64{0, 1, 7, 8, 9, 10} { // 2 to 6 were dropped before
		if s.due("a", seq) {
			got = append(got, seq)
		}
	}
	if want := []uint64{0, 7, 9}; !reflect.DeepEqual(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
}
