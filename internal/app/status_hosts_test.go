package app

import (
	"strings"
	"testing"
	"time"

	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

func TestPrintHosts(t *testing.T) {
	since := time.Date(2030, 5, 1, 12, 0, 0, 0, time.Local)
	var out strings.Builder
	printHosts(&out, []otherHost{
		{Host: ipc.Host{Rig: "left", Up: true, Since: since, Frames: 90, Late: 2, Old: 1, Untimed: 5, Clock: &ipc.HostClock{
			OffsetNS: -3_600_000_123_000, ErrorNS: 150_000, RoundTripNS: 300_000, AgeNS: 1_500_000_000, DriftPPM: 2.26}},
			stages: []telemetry.Stats{{Stage: "tracker", PID: 77, Cameras: map[string]telemetry.CameraStats{"cam0": {Frames: 90}}}}},
		{Host: ipc.Host{Rig: "right", Since: since, Reason: "no answer within 500ms", Steps: 2}},
		{Host: ipc.Host{Rig: "third", Up: true, Since: since}},
	})
	for _, want := range []string{
		"host left: reached since 2030-05-01 12:00:00\n",
		"host left: clock -3600.000123 s ± 0.150 ms, round trip 0.300 ms, measured 1.5 s ago, drift +2.3 ppm\n",
		"host left: 90 frames merged, 2 too late, 1 twice, 5 while its clock was not known or it was away\nstage",
		"host right: not reached since 2030-05-01 12:00:00: no answer within 500ms\nhost right: its clock is not known\n",
		"host third: none of its processes tells its state\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if !strings.Contains(clockLine(&ipc.HostClock{}, 2), "another clock than before 2 times") {
		t.Error(clockLine(&ipc.HostClock{}, 2))
	}
}
