package app

import (
	"strings"
	"testing"
	"time"

	"facetrack/internal/ledger"
	"facetrack/internal/telemetry"
)

// goodRun is one of 30 frames/s for 10 s.
func goodRun(cameras int, transport, backend string) BenchRun {
	var run BenchRun
	run.Summary.Restarts = map[string]int{"detect": 0, "capture": 0}
	run.Summary.Backends = map[string]string{"detect": backend, "landmarks": backend}
	run.Summary.Cameras = map[string]CameraSummary{}
	run.Summary.LatencyMS.CaptureToTracks.P99 = 33
	for i := range cameras {
		run.Summary.Cameras["cam"+string(rune('0'+i))] = CameraSummary{
			Summary: ledger.Summary{Captured: 294, Tracked: 294, Dropped: map[string]uint64{}, FPS: 29.4},
			Links:   map[string]telemetry.Link{"detect": {Transport: transport}, "landmarks": {Transport: transport}},
		}
	}
	return run
}

func TestOnlyAFullLoadCounts(t *testing.T) {
	camera := func(change func(*CameraSummary)) func(*Summary) {
		return func(s *Summary) {
			c := s.Cameras["cam1"]
			change(&c)
			s.Cameras["cam1"] = c
		}
	}
	cases := map[string]struct {
		change        func(*Summary)
		mode, backend string // processes, cuda
		want          string // "": it counts
	}{
		"good":             {},
		"a drop":           {change: camera(func(c *CameraSummary) { c.Tracked-- }), want: "1 of 588 frames were dropped"},
		"slow":             {change: func(s *Summary) { s.LatencyMS.CaptureToTracks.P99 = 33.1 }, want: "p99 33.1 ms is above 33.0"},
		"one camera short": {change: camera(func(c *CameraSummary) { c.Captured, c.Tracked = 293, 293 }), want: "1 of 2 cameras gave less than 98 % of 300 frames, one 293"},
		"one camera less":  {change: func(s *Summary) { delete(s.Cameras, "cam1") }, want: "1 of 2 cameras gave less than 98 % of 300 frames, one 0"},
		"restarted":        {change: func(s *Summary) { s.Restarts["detect"] = 2 }, want: "detect was started again 2 time(s)"},
		"fell back":        {change: camera(func(c *CameraSummary) { c.Links["detect"] = telemetry.Link{Transport: "shm", Reason: "old"} }), want: "1 links are not [cuda-ipc]: cam1 → detect: shm (old)"},
		"no link":          {change: camera(func(c *CameraSummary) { c.Links = nil }), want: "2 links are not [cuda-ipc]: cam1 → detect: "},
		"on the CPU":       {change: func(s *Summary) { s.Backends["landmarks"] = "cpu" }, want: `landmarks ran on "cpu"`},
		"threads":          {mode: "threads", want: "4 links are not [cuda]: cam0"},
		"host-copy":        {mode: "host-copy", want: "4 links are not [shm copy]: cam0"},
		"any backend": {backend: "auto", change: func(s *Summary) {
			s.Backends = nil
			s.Cameras["cam0"].Links["detect"] = telemetry.Link{Transport: "shm"}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run := goodRun(2, "cuda-ipc", "cuda")
			if c.change != nil {
				c.change(&run.Summary)
			}
			b := BenchCamerasCmd{FPS: 30, Limit: 33 * time.Millisecond, Backend: "cuda"}
			set(&b.Backend, c.backend)
			mode := "processes"
			set(&mode, c.mode)
			got := b.whyNot(mode, stepOf(2, 10*time.Second, run, nil), run.Summary)
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	b := BenchCamerasCmd{FPS: 30, Limit: 33 * time.Millisecond, Backend: "cuda"}
	for mode, transport := range map[string]string{"threads": "cuda", "host-copy": "copy"} {
		run := goodRun(2, transport, "cuda")
		if got := b.whyNot(mode, stepOf(2, 10*time.Second, run, nil), run.Summary); got != "" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

func TestVerdictOnCameras(t *testing.T) {
	run := func(mode string, held int) CamerasRun {
		return CamerasRun{Mode: mode, Held: held, Search: []CamerasStep{{Cameras: held, OK: held > 0}, {Cameras: held + 9, WhyNot: "far"}, {Cameras: held + 1, WhyNot: "near"}}}
	}
	for name, c := range map[string]struct {
		cmd   BenchCamerasCmd
		modes []CamerasRun
		want  []string
	}{
		"nothing asked for": {BenchCamerasCmd{}, []CamerasRun{run("processes", 2)}, nil},
		"not even one":      {BenchCamerasCmd{}, []CamerasRun{run("processes", 0)}, []string{"processes holds not even one camera; 1: near"}},
		"not held":          {BenchCamerasCmd{Cameras: 1}, []CamerasRun{run("processes", 1), run("host-copy", 0)}, []string{"host-copy does not hold 1: near"}},
		"enough":            {BenchCamerasCmd{AtLeast: 64}, []CamerasRun{run("processes", 64), run("host-copy", 2)}, nil},
		"too few": {
			BenchCamerasCmd{AtLeast: 64},
			[]CamerasRun{run("processes", 63), run("threads", 60)},
			[]string{"processes holds 63 cameras, fewer than --at-least=64; 64: near", "threads holds 60"},
		},
		"four times":      {BenchCamerasCmd{Ratio: 4}, []CamerasRun{run("processes", 64), run("host-copy", 16)}, nil},
		"less":            {BenchCamerasCmd{Ratio: 4}, []CamerasRun{run("host-copy", 17), run("processes", 64)}, []string{"processes hold 64 cameras and host-copy 17"}},
		"neither holds":   {BenchCamerasCmd{Ratio: 4}, []CamerasRun{run("processes", 0), run("host-copy", 0)}, []string{"processes hold 0 cameras and host-copy 0"}},
		"only one of two": {BenchCamerasCmd{Ratio: 4}, []CamerasRun{run("processes", 64), run("threads", 64)}, nil},
	} {
		err := c.cmd.verdict(CamerasResult{Modes: c.modes})
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}
