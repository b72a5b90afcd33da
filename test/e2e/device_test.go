//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"facetrack/internal/app"
	"facetrack/internal/fault"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// With a GPU every frame is uploaded once and read where it is, whichever way the work of the processes is put in
// order, and the results are the same.
func TestFramesStayOnTheGPU(t *testing.T) {
	for _, mode := range []struct {
		name, config    string
		flags           []string
		faults          string
		transport, sync string
	}{
		{"events", "", nil, "", "cuda-ipc", "events"},
		{"memops", "cuda: {sync: memops}\n", nil, "", "cuda-ipc", "memops"},
		{"memops without shared events", "", nil, "cuIpcOpenEventHandle=205", "cuda-ipc", "memops"},
		{"memops without events to share", "", nil, "cuIpcGetEventHandle=801", "cuda-ipc", "memops"},
		{"threads", "", []string{"--threads"}, "", "cuda", ""},
	} {
		t.Run(mode.name, func(t *testing.T) {
			r, drawn := prepare(t).withGPU(), apart(t, 60)
			r.env = append(r.env, fault.Variable+"="+mode.faults)
			args := append([]string{
				"--config", r.config("tracker: {keep_raw: true}\n" + mode.config), "--source", drawn, "--pace", "max", "--record", r.path("a.jsonl"),
			}, mode.flags...)
			cam := r.up(args...).mustEnd().Cameras["cam0"]
			if cam.Captured != 60 || cam.Tracked != 60 {
				t.Errorf("captured %d, tracked %d, want 60; dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
			}
			checkLinks(t, cam, mode.transport)
			checkGPU(t, cam, mode.sync)
			checkTruth(t, tracks(t, r.path("a.jsonl")), drawn)
		})
	}
}

func checkGPU(t *testing.T, cam app.CameraSummary, sync string) {
	t.Helper()
	for _, name := range []string{stage.Detect, stage.Landmarks} {
		link := cam.Links[name]
		if !strings.HasPrefix(link.GPU, "GPU-") || sync != "" && link.Sync != sync {
			t.Errorf("%s reads on %q by %q, want a GPU and %q", name, link.GPU, link.Sync, sync)
		}
	}
}

// A running rig says which GPU holds the frames and how they are read, to people and to programs.
func TestStatusShowsTheGPU(t *testing.T) {
	r := prepare(t).withGPU()
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30,size=320x240")
	var detect telemetry.Link
	r.eventually("detect and landmarks are attached", func() bool {
		all := r.services()
		detect = linkOf(all[stage.Detect])
		return detect.Transport != "" && linkOf(all[stage.Landmarks]).Transport != ""
	})
	text, err := command(t, "status", "--nats", r.url, "--rig", r.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cuda-ipc, events, " + detect.GPU + " (", "uploads to " + detect.GPU, "deep (4 to 8)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("status does not say %q:\n%s", want, text)
		}
	}
	ring, _ := r.status()[stage.Capture].Cameras["cam0"].Ring.(map[string]any)
	if ring["gpu_uuid"] != detect.GPU || ring["depth"] == nil || ring["uploads"] == nil {
		t.Errorf("status --json shows the ring as %v", ring)
	}
	r.interrupt()
	r.mustEnd()
}

func linkOf(s telemetry.Stats) telemetry.Link {
	if l := s.Cameras["cam0"].Link; l != nil {
		return *l
	}
	return telemetry.Link{}
}
