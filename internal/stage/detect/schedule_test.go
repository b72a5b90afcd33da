package detect

import (
	"reflect"
	"testing"
)

func TestSchedule(t *testing.T) {
	s := newSchedule(5)
	var got []uint64
	for seq := uint64(100); seq < 120; seq++ {
		if seq == 107 {
			s.lost("a")
		}
		if s.due("a", seq) {
			got = append(got, seq)
		}
	}
	if want := []uint64{100, 105, 107, 112, 117}; !reflect.DeepEqual(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
	if !s.due("b", 3) {
		t.Error("the first frame of another camera is not looked at")
	}
	if !s.due("a", 0) {
		t.Error("a camera whose numbers began anew is not looked at")
	}
}

func TestScheduleSurvivesMissingFrames(t *testing.T) {
	s := newSchedule(3)
	var got []uint64
	for _, seq := range []uint64{0, 1, 7, 8, 9, 10} { // 2 to 6 were dropped before
		if s.due("a", seq) {
			got = append(got, seq)
		}
	}
	if want := []uint64{0, 7, 10}; !reflect.DeepEqual(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
}
