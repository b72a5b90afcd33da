package app

import (
	"strings"
	"testing"
	"time"

	"facetrack/internal/stage"
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
		{Host: ipc.Host{Rig: "fourth"}, unknown: true, stages: []telemetry.Stats{{Stage: "capture", PID: 78}}},
	})
	for _, want := range []string{
		"host left: reached since 2030-05-01 12:00:00\n",
		"host left: clock -3600.000123 s ± 0.150 ms, round trip 0.300 ms, measured 1.5 s ago, drift +2.3 ppm\n",
		"host left: 90 frames merged, 2 too late, 1 twice, 5 while its clock was not known or it was away\nstage",
		"host right: not reached since 2030-05-01 12:00:00: no answer within 500ms\nhost right: its clock is not known\n",
		"host third: none of its processes tells its state\n",
		"host fourth: link and clock are not known: no tracker answers on this hub\nstage",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if !strings.Contains(clockLine(&ipc.HostClock{}, 2), "another clock than before 2 times") {
		t.Error(clockLine(&ipc.HostClock{}, 2))
	}
}

// A hub whose tracker is gone still knows which hosts there are to ask.
func TestHostsOfAHubWithoutTracker(t *testing.T) {
	nc := connect(t, startNATS(t))
	settings, err := openSettings(t.Context(), nc.Conn, "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	cfg := mustConfigure(t, "--config", write(t, "f.yaml", "nats: {leaf: {listen: \"127.0.0.1:7422\"}}\ncameras: [{source: x}]\nhosts: [{rig: left}]\n"))
	if _, err := storeConfig(t.Context(), settings, cfg, "test"); err != nil {
		t.Fatal(err)
	}
	service, err := telemetry.Serve(nc.Conn, "left", telemetry.New(stage.Capture))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	c := &StatusCmd{BusFlags: BusFlags{Rig: "lab"}}
	hosts, err := askHosts(nc.Conn, c.hosts(t.Context(), nc.Conn, []telemetry.Stats{{Stage: stage.Capture}}), time.Second)
	if err != nil || len(hosts) != 1 || hosts[0].Rig != "left" || !hosts[0].unknown || len(hosts[0].stages) != 1 {
		t.Errorf("%+v, %v", hosts, err)
	}
	if known := c.hosts(t.Context(), nc.Conn, []telemetry.Stats{{Stage: stage.Tracker}}); len(known) != 0 {
		t.Errorf("beside a tracker that knows of none: %+v", known)
	}
}
