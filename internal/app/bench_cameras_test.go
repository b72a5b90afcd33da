package app

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"facetrack/internal/ledger"
	"facetrack/internal/telemetry"
)

func TestLargestFindsWhatHolds(t *testing.T) {
	for _, c := range []struct{ most, truth, least, greatest int }{
		{256, 0, 0, 0}, {256, 1, 1, 1}, {256, 5, 5, 5}, {256, 37, 35, 37}, {256, 70, 66, 70}, {256, 256, 256, 256}, {256, 300, 256, 256}, {100, 99, 94, 99}, {1, 1, 1, 1},
	} {
		for _, from := range []int{0, 1, 48, 300} {
			steps := 0
			got, err := largest(from, c.most, func(n int) (bool, error) {
				steps++
				if n < 1 || n > c.most {
					t.Errorf("asked for %d of at most %d", n, c.most)
				}
				return n <= c.truth, nil
			})
			if err != nil || got < c.least || got > c.greatest || steps > 16 {
				t.Errorf("%d of %d hold: found %d in %d steps from %d, %v", c.truth, c.most, got, steps, from, err)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := largest(1, 8, func(int) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestStepAddsUpCameras(t *testing.T) {
	camera := func(captured, tracked, faces uint64, drops map[string]uint64, transport string) CameraSummary {
		return CameraSummary{
			Summary: ledger.Summary{Captured: captured, Tracked: tracked, Faces: faces, FPS: 30, Dropped: drops},
			Links:   map[string]telemetry.Link{"detect": {Transport: transport}, "landmarks": {Transport: "shm"}},
		}
	}
	var run BenchRun
	run.Summary.LatencyMS.CaptureToTracks.P99 = 12
	run.Summary.Cameras = map[string]CameraSummary{
		"cam0": camera(300, 298, 298, map[string]uint64{"detect:queue-full": 2}, "cuda-ipc"),
		"cam1": camera(300, 299, 598, map[string]uint64{"detect:queue-full": 1}, "shm"),
	}
	run.Summary.DurationS = 15 // the rig started and ended
	s := stepOf(2, 10*time.Second, run, &GPUUse{UpMBps: 60})
	if s.HoldS != 10 || s.Seconds != 15 || s.UpMB != 1 {
		t.Errorf("%v s of %v, %v MB a frame", s.HoldS, s.Seconds, s.UpMB)
	}
	if s.Captured != 600 || s.Tracked != 597 || s.FPS != 60 || s.P99 != 12 || s.Dropped["detect:queue-full"] != 3 || s.Faces < 1.49 || s.Faces > 1.51 {
		t.Errorf("%+v", s)
	}
	if want := map[string]int{"cuda-ipc": 1, "shm": 3}; !reflect.DeepEqual(s.Transport, want) {
		t.Errorf("links %v, want %v", s.Transport, want)
	}
}

func TestRigsOfTheBenchmark(t *testing.T) {
	b := BenchCamerasCmd{Backend: "cuda", Infer: "throughput", Precision: "fp16", FPS: 25, More: []string{"--model=blazeface"}}
	common := []string{
		"--loop", "--duration", "10s", "--fps=25", "--backend", "cuda", "--infer-mode", "throughput", "--precision", "fp16",
	}
	for mode, own := range map[string][]string{
		"processes": nil, "threads": {"--threads"}, "host-copy": {"--transport", "shm", "--transport", "copy"},
	} {
		want := append(append(slices.Clone(common), own...), "--model=blazeface")
		got := b.arguments(mode, 10*time.Second)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
		mustConfigure(t, append(got, "--source", "a.mkv")...)
	}
}

// Cameras that nobody synchronises take their frames all over a frame's time, however many there are.
func TestPhasesOfTheBenchmark(t *testing.T) {
	phase := func(b BenchCamerasCmd, i int) (phase float64) {
		b.Size, b.Format, b.Frames = "64x48", "NV12", 9
		if _, err := fmt.Sscanf(b.source(i, "clip"), fmt.Sprintf("memory:size=64x48,format=NV12,frames=9,start=%d,phase=%%f:clip", i*7%9), &phase); err != nil {
			t.Fatal(err)
		}
		return phase
	}
	const cameras, parts = 64, 8
	var in [parts]int
	for i := range cameras {
		in[int(parts*phase(BenchCamerasCmd{}, i))]++
		if got := phase(BenchCamerasCmd{InStep: true}, i); got != 0 {
			t.Errorf("camera %d in step: phase %v", i, got)
		}
	}
	if least, most := slices.Min(in[:]), slices.Max(in[:]); least < 7 || most > 9 {
		t.Errorf("cameras in each eighth of a frame's time: %v", in)
	}
}
