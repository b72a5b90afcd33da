package detect

import (
	"reflect"
	"testing"

	"facetrack/ipc"
)

// looks lists the frames that a schedule of every fifth looks at, when frames come at these times.
func looks(change func(f *ipc.Frame, ns int64), times ...int64) (at []uint64) {
	s := newSchedule(5, nil)
	for i, ns := range times {
		f := ipc.Frame{Camera: "a", Seq: uint64(i), CaptureNS: 9e9}
		change(&f, ns)
		if s.turn(&f) {
			at = append(at, f.Seq)
		}
	}
	return at
}

// Faces are not followed over more than FollowNS, so such a frame is looked at whatever its number is.
func TestFramesFarApartAreLookedAt(t *testing.T) {
	live := func(f *ipc.Frame, ns int64) { f.CaptureNS = ns }
	recorded := func(f *ipc.Frame, ns int64) { f.MediaNS = ns }
	const step = ipc.FollowNS
	for name, change := range map[string]func(*ipc.Frame, int64){"live": live, "recorded": recorded} {
		for _, c := range []struct {
			times []int64
			want  []uint64
		}{
			{[]int64{1, 1 + step, 1 + 2*step, 1 + 3*step, 1 + 4*step, 1 + 5*step}, []uint64{0, 5}},
			{[]int64{1, 2 + step, 3 + 2*step, 4 + 3*step}, []uint64{0, 1, 2, 3}},
			{[]int64{1, 2, 3 + step, 4 + step, 5 + step, 6 + step, 7 + step, 8 + step}, []uint64{0, 2, 5}},
			{[]int64{1 + 9*step, 1, 2, 3, 4, 5}, []uint64{0, 5}},
		} {
			if got := looks(change, c.times...); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s frames at %v ns: looked at %v, want %v", name, c.times, got, c.want)
			}
		}
	}
}

// A recording that a slow machine reads at one frame a second is no slow camera.
func TestSlowReadingIsNoSlowCamera(t *testing.T) {
	slow := func(f *ipc.Frame, n int64) { f.CaptureNS, f.MediaNS = n*1e9, n*33e6 }
	if got, want := looks(slow, 1, 2, 3, 4, 5, 6), []uint64{0, 5}; !reflect.DeepEqual(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
}

func TestEachCameraHasItsOwnTime(t *testing.T) {
	s := newSchedule(5, nil)
	for seq := range uint64(4) {
		for camera, ns := range map[string]int64{"a": 1, "b": 1 + 9*ipc.FollowNS} {
			f := ipc.Frame{Camera: camera, Seq: seq, CaptureNS: ns + int64(seq)}
			if got := s.turn(&f); got != (seq == 0) {
				t.Errorf("camera %s, frame %d: looked at %v", camera, seq, got)
			}
		}
	}
}
