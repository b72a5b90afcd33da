package app

import (
	"testing"

	"facetrack/internal/nvml"
)

// A GPU that counts its bytes is believed, not the rate of some moments.
func TestBytesPerFrame(t *testing.T) {
	u := GPUUse{UpMBps: 60, DownMBps: 3}
	if up, down := u.perFrame(300, 10); up != 2 || down != 0.1 {
		t.Errorf("%v up, %v down", up, down)
	}
	u.UpMB, u.DownMB = 900, 18
	if up, down := u.perFrame(300, 10); up != 3 || down != 0.06 {
		t.Errorf("counted: %v up, %v down", up, down)
	}
	u.UpMB, u.DownMB = 200, 18 // a rest of 300
	if up, down := u.perFrame(300, 10); up != 2 || down != 0.06 {
		t.Errorf("the counter up began anew: %v up, %v down", up, down)
	}
	u.UpMB, u.DownMB, u.DownMBps = 900, 30, 9
	if up, down := u.perFrame(300, 10); up != 3 || down != 0.3 {
		t.Errorf("the counter down began anew: %v up, %v down", up, down)
	}
	uses := []GPUUse{{Samples: 1, before: nvml.Traffic{RX: 5e6, TX: 1e6}, after: nvml.Traffic{RX: 7e6, TX: 4e6}}}
	if got := busiest(uses); got.UpMB != 2 || got.DownMB != 3 {
		t.Errorf("%+v", got)
	}
	uses = []GPUUse{{Samples: 1, before: nvml.Traffic{RX: 5e6}, after: nvml.Traffic{RX: 1, TX: 4e6}}}
	if got := busiest(uses); got.UpMB != 0 || got.DownMB != 4 {
		t.Errorf("after the counter began anew: %+v", got)
	}
}

func TestBusiestGPU(t *testing.T) {
	if got := busiest([]GPUUse{{}, {}}); got != nil {
		t.Errorf("%+v without a sample", got)
	}
	got := busiest([]GPUUse{{UUID: "a", Percent: 30, UpMBps: 8, Samples: 2}, {UUID: "b", Percent: 90, UpMBps: 20, DownMBps: 10, Samples: 2}, {}})
	if got == nil || got.UUID != "b" || got.Percent != 45 || got.UpMBps != 10 || got.DownMBps != 5 {
		t.Errorf("%+v", got)
	}
}
