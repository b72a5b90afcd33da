package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/stage/capture"
	"facetrack/internal/telemetry"
)

const someGPU = "GPU-0a1b2c3d-0000-1111-2222-0123456789ab"

// fromWire is what a stage says, as it arrives.
func fromWire(t *testing.T, s telemetry.Stats) telemetry.Stats {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out telemetry.Stats
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStatusSaysHowPixelsTravel(t *testing.T) {
	ring := capture.RingStatus{
		Ring: "lab/gpu/7", GPU: someGPU, Stats: gpuring.Stats{Slots: 8, MinSlots: 4, Depth: 5, Held: 2, Uploads: 99},
	}
	host := capture.RingStatus{Ring: "lab/host/1", NoGPU: "no driver", Stats: gpuring.Stats{Slots: 8, MinSlots: 4, Depth: 4}}
	all := []telemetry.Stats{
		fromWire(t, telemetry.Stats{Stage: "capture", PID: 11, Cameras: map[string]telemetry.CameraStats{
			"gpu": {State: "running", Ring: ring}, "host": {State: "running", Ring: host}, "away": {State: "opening"},
		}}),
		fromWire(t, telemetry.Stats{Stage: "detect", PID: 12, Backend: "cpu", Because: "no GPU here\nat all", Model: "facetrack-detector", Chosen: "no other\nis here", Cameras: map[string]telemetry.CameraStats{
			"gpu":  {Link: &telemetry.Link{Transport: "cuda-ipc", Reason: "the fastest transport", Sync: "events", GPU: someGPU}},
			"host": {Link: &telemetry.Link{Transport: "shm", Reason: "cuda-ipc: no driver"}},
		}}),
		fromWire(t, telemetry.Stats{Stage: "landmarks", PID: 15, Model: "mine.onnx"}),
		fromWire(t, telemetry.Stats{Stage: "tracker", PID: 13, Cameras: map[string]telemetry.CameraStats{"gpu": {Frames: 3}}}),
		fromWire(t, telemetry.Stats{Stage: "lsl-out", PID: 14, Streams: &telemetry.Streams{Open: 7, Readers: 2, Lost: 5}}),
	}
	var out bytes.Buffer
	printStatus(&out, all)
	for _, want := range []string{
		"\ndetect: model facetrack-detector: no other is here\n", "\ndetect: networks run on cpu: no GPU here at all\n", "\nlandmarks: model mine.onnx\n",
		"\nlsl-out: 7 LSL streams, 2 readers, 5 samples lost by readers that are too slow\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
	for _, want := range [][]string{
		{"capture    11", "gpu", "running; ring 5 deep (4 to 8), 2 held, 99 uploads to " + someGPU},
		{"capture    11", "host", "running; ring 4 deep (4 to 8), 0 held, in host memory"},
		{"capture    11", "away", "opening"},
		{"detect     12", "gpu", "cuda-ipc, events, " + someGPU + " (the fastest transport)"},
		{"detect     12", "host", "shm (cuda-ipc: no driver)"},
		{"tracker    13", "gpu", "-"},
		{"lsl-out    14", "-", "0"},
	} {
		found := false
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSpace(line)
			found = found || strings.HasPrefix(line, want[0]) && strings.Fields(line)[2] == want[1] && strings.HasSuffix(line, "  "+want[2])
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}
