package ipc_test

import (
	"testing"

	"facetrack/ipc"
)

func TestRecordedMaterialKeepsItsOwnTime(t *testing.T) {
	for _, c := range []struct {
		frame ipc.Frame
		want  int64
	}{
		{ipc.Frame{CaptureNS: 7e9}, 7e9},
		{ipc.Frame{CaptureNS: 7e9, MediaNS: 33}, 33},
	} {
		if got := c.frame.TimeNS(); got != c.want {
			t.Errorf("time of %+v is %d, want %d", c.frame, got, c.want)
		}
	}
	m := ipc.Landmarks{Frame: ipc.Frame{CaptureNS: 1, MediaNS: 2}}
	if got := m.TimeNS(); got != 2 {
		t.Errorf("a message has time %d, want that of its frame", got)
	}
}
