package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// threads is a rig that runs stages in this process.
func threads(t *testing.T) *rig {
	t.Helper()
	s := startNATS(t)
	return &rig{
		cmd: &UpCmd{Threads: true}, url: s.ClientURL(), log: quiet,
		cfg: mustConfigure(t, "--config", drawnFaces(t), "--source", "synthetic:faces=1,frames=1"),
	}
}

func TestThreadRunsUntilItIsStopped(t *testing.T) {
	p, err := threads(t).startStage(stage.Tracker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := p.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Fatal("the stage ended by itself")
	default:
	}
	if pid, restarts := p.PID(); p.Name() != "tracker" || pid != os.Getpid() || restarts != 0 {
		t.Errorf("%s: process %d, %d restarts", p.Name(), pid, restarts)
	}
	p.Stop(time.Second)
	p.Stop(time.Second)
	<-p.Done()
	if err := p.Err(); err != nil {
		t.Errorf("a stage that was stopped: %v", err)
	}
}

func TestThreadThatFailsSaysSo(t *testing.T) {
	r := threads(t)
	r.cfg.Cameras = nil
	p := startThread(r, stage.Capture)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	err := p.WaitReady(ctx)
	if !errors.Is(err, stage.ErrPermanent) || !strings.HasPrefix(err.Error(), "capture: ") || !errors.Is(p.Err(), stage.ErrPermanent) {
		t.Errorf("ready: %v, end: %v", err, p.Err())
	}
	r.runners = []runner{p}
	if err := r.failed(); !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("the rig does not notice: %v", err)
	}
	r.url = "nats://127.0.0.1:1"
	if err := startThread(r, stage.Tracker).WaitReady(ctx); !errors.Is(err, ipc.ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
}

func TestWaitForAThreadEndsWithItsContext(t *testing.T) {
	never := &thread{ready: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := never.WaitReady(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if err := (&rig{runners: []runner{never}}).failed(); err != nil {
		t.Errorf("a stage that runs has failed: %v", err)
	}
}

// The whole rig in one process: every frame of the clip is tracked, recorded and accounted for.
func TestUpWithThreads(t *testing.T) {
	const frames = 40
	dir := t.TempDir()
	recording, summary := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "s.json")
	code, stdout, stderr := run(t, "up", "--threads", "--config", drawnFaces(t), "--listen", "127.0.0.1:-1", "--data-dir", dir,
		"--source", "synthetic:faces=1,frames=40", "--pace", "max", "--record", recording, "--summary", summary)
	if code != 0 {
		t.Fatalf("status %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "cam0") || !strings.Contains(stdout, "recorded 40 frames in "+recording) || !strings.Contains(stderr, "rig apptest is up on nats://") {
		t.Errorf("printed %q and %q", stdout, stderr)
	}
	data, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	var s Summary
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	cam := s.Cameras["cam0"]
	if cam.Captured != frames || cam.Tracked != frames || cam.Open != 0 || cam.End != ipc.EndOfSource || len(cam.Identities) != 1 {
		t.Errorf("captured %d, tracked %d, dropped %v, open %d, identities %v", cam.Captured, cam.Tracked, cam.Dropped, cam.Open, cam.Identities)
	}
	if s.Mode != "threads" || s.Backends["detect"] != "reference" || s.Models["landmarks"] != "synthetic.task" || cam.Links["landmarks"].Transport != "shm" || s.Recording.Lines != frames {
		t.Errorf("%+v", s)
	}
	text, err := os.ReadFile(recording)
	if err != nil || strings.Count(string(text), "\n") != frames {
		t.Errorf("%d lines recorded, %v", strings.Count(string(text), "\n"), err)
	}
	code, _, stderr = run(t, "up", "--threads", "--config", drawnFaces(t), "--listen", "127.0.0.1:-1", "--data-dir", dir,
		"--source", "synthetic:faces=1,frames=1", "--record", recording)
	if again, _ := os.ReadFile(recording); code != 1 || string(again) != string(text) {
		t.Errorf("a recording is overwritten: status %d", code)
	}
	expectLine(t, stderr, "exists and is left alone")
}

// A stage that cannot run ends the rig, with one line and without leftovers.
func TestUpWithAStageThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := run(t, "up", "--threads", "--config", drawnFaces(t), "--listen", "127.0.0.1:-1", "--data-dir", dir,
		"--source", "synthetic:nonsense=1", "--log-level", "error", "--record", filepath.Join(dir, "a.jsonl"), "--summary", filepath.Join(dir, "s.json"))
	if code != 1 || stdout != "" {
		t.Errorf("status %d, stdout %q", code, stdout)
	}
	expectLine(t, stderr, "nonsense")
	for _, name := range []string{"a.jsonl", "s.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
}

func TestStatusOfARunningRig(t *testing.T) {
	s := startNATS(t)
	nc := connect(t, s)
	tracker, detect := telemetry.New(stage.Tracker), telemetry.New(stage.Detect)
	detect.Frame("cam0", 2, time.Millisecond, time.Millisecond)
	detect.Drop("cam0", "overwritten")
	detect.SetLink("cam0", func() telemetry.Link { return telemetry.Link{Transport: "shm", Reason: "no GPU"} })
	detect.State("cam1", "running")
	for _, r := range []*telemetry.Recorder{tracker, detect} {
		if _, err := telemetry.Serve(nc.Conn, "lab", r); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "status", "--nats", s.ClientURL(), "--wait", deadline.String())
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || stderr != "" || len(lines) != 4 {
		t.Fatalf("status %d, %q:\n%s", code, stderr, stdout)
	}
	for i, want := range []string{"stage", "detect", "detect", "tracker"} { // in the order of the data flow
		if !strings.HasPrefix(lines[i], want+" ") {
			t.Errorf("line %d is %q, want %s", i, lines[i], want)
		}
	}
	if f := strings.Fields(lines[1]); f[2] != "cam0" || f[3] != "1" || f[4] != "2" || f[5] != "1" || !strings.HasSuffix(lines[1], "shm (no GPU)") {
		t.Errorf("cam0: %q", lines[1])
	}
	if !strings.HasSuffix(lines[2], "running") {
		t.Errorf("cam1: %q", lines[2])
	}
	code, stdout, _ = run(t, "status", "--json", "--nats", s.ClientURL(), "--wait", deadline.String())
	var all []telemetry.Stats
	if err := json.Unmarshal([]byte(stdout), &all); code != 0 || err != nil || len(all) != 2 || all[0].Cameras["cam0"].Frames != 1 {
		t.Errorf("status %d, %v: %s", code, err, stdout)
	}
	code, _, stderr = run(t, "status", "--rig", "other", "--nats", s.ClientURL(), "--wait", deadline.String())
	if code != 1 {
		t.Errorf("another rig: status %d", code)
	}
	expectLine(t, stderr, `rig "other"`, "facetrack up")
}

func TestRecordOfARunningRig(t *testing.T) {
	s := startNATS(t)
	nc := connect(t, s)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if code, _, stderr := run(t, "record", path, "--nats", s.ClientURL()); code != 1 || !strings.Contains(stderr, `rig "lab"`) {
		t.Errorf("a rig that does not run: status %d, %q", code, stderr)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a recording of nothing: %v", err)
	}
	capture := telemetry.New(stage.Capture)
	capture.State("cam", "running")
	service, err := telemetry.Serve(nc.Conn, "lab", capture)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop() }()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	stdout, _ := printed(t, func() {
		go func() {
			ended <- (&RecordCmd{BusFlags: BusFlags{NATS: s.ClientURL(), Rig: "lab"}, File: path}).Run(ctx)
		}()
		eventually(t, "the recorder listens", func() bool {
			tracks, err := s.Subsz(&server.SubszOptions{Subscriptions: true, Test: "face.lab.cam.tracks"})
			return err == nil && len(tracks.Subs) > 0
		})
		for seq := range uint64(3) {
			m := ipc.Tracks{Frame: ipc.Frame{Camera: "cam", Seq: seq, Ring: "r", Width: 2, Height: 2, Format: "BGR"}, Faces: []ipc.TrackedFace{}}
			if err := ipc.NewPublisher(nc.Conn).Publish("face.lab.cam.tracks", &m); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("recorded %q, %v", text, err)
	}
	if !strings.Contains(stdout, "recorded 3 frames") || !strings.Contains(stdout, path) {
		t.Errorf("printed %q", stdout)
	}
}
