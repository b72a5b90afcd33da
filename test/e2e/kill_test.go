//go:build e2e

package e2e

import (
	"os/signal"
	"syscall"
	"testing"
	"time"

	"facetrack/internal/stage"
)

// kill -9 of each process in turn: the run goes on, the killed stage is back, the books balance, nothing is left.
func TestKillEachProcess(t *testing.T) { killEachProcess(t, prepare(t), processLink) }

// The same with frames in device memory, to which everybody comes back.
func TestKillEachProcessOnTheGPU(t *testing.T) { killEachProcess(t, prepare(t).withGPU(), "cuda-ipc") }

func killEachProcess(t *testing.T, r *rig, transport string) {
	r.up("--config", r.config(""), "--source", "synthetic:faces=2,fps=30", "--record", r.path("a.jsonl"))
	r.eventually("frames flow", func() bool { return r.status()["lsl-out"].Cameras["cam0"].Frames > 10 })
	arrivals := r.listen()
	for _, name := range []string{stage.Detect, stage.Landmarks, stage.Tracker, stage.LSLOut, stage.Capture} {
		before := r.status()
		if len(before) != len(stage.Names) {
			t.Fatalf("%d stages answer", len(before))
		}
		back := r.kill(name, before[name].PID, arrivals)
		t.Logf("%s back in the flow %v after kill -9", name, back.Round(time.Millisecond))
		if back > backInFlow {
			t.Errorf("%s was back in the flow %v after kill -9, want %v at most", name, back, backInFlow)
		}
		r.eventually("pixels travel as before", func() bool {
			s := r.services()
			return linkOf(s[stage.Detect]).Transport == transport && linkOf(s[stage.Landmarks]).Transport == transport
		})
		for other, s := range r.status() {
			if other != name && s.PID != before[other].PID {
				t.Errorf("%s was restarted when %s was killed", other, name)
			}
		}
	}
	r.interrupt()
	s := r.mustEnd()
	cam := s.Cameras["cam0"]
	for _, name := range stage.Names {
		if s.Restarts[name] != 1 {
			t.Errorf("%s: %d restarts, want 1", name, s.Restarts[name])
		}
	}
	if cam.Tracked == 0 || cam.TotalDropped() == 0 {
		t.Errorf("tracked %d, dropped %v: a killed process loses what it holds", cam.Tracked, cam.Dropped)
	}
	if len(cam.Identities) < 2 {
		t.Errorf("identities %v", cam.Identities)
	}
	t.Logf("captured %d = tracked %d + dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
	checkRecording(t, r, cam.Tracked)
}

// checkRecording: every tracked frame is on file once, and sequence numbers never begin anew.
func checkRecording(t *testing.T, r *rig, tracked uint64) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, m := range tracks(t, r.path("a.jsonl")) {
		if seen[m.Seq] {
			t.Errorf("frame %d was recorded twice", m.Seq)
		}
		seen[m.Seq] = true
	}
	if uint64(len(seen)) != tracked {
		t.Errorf("%d frames recorded, %d tracked", len(seen), tracked)
	}
}

// An offline run loses no more than what was under way when a stage is killed.
func TestKillDuringOfflineRun(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,frames=3000", "--pace", "max")
	for _, name := range []string{stage.Landmarks, stage.Capture} {
		frames := uint64(0)
		r.eventually("frames flow", func() bool {
			now := r.status()["tracker"].Cameras["cam0"].Frames
			flows := frames > 0 && now > frames
			frames = now
			return flows
		})
		r.signal(r.status()[name].PID, syscall.SIGKILL)
	}
	cam := r.mustEnd().Cameras["cam0"]
	// Capture that is killed between taking a frame's number and noting its place brings the frame once more.
	if cam.Captured < 3000 || cam.Captured > 3001 {
		t.Errorf("captured %d frames of 3000: the source was not resumed where it was", cam.Captured)
	}
	if lost := cam.TotalDropped(); lost > 20 {
		t.Errorf("%d frames lost: %v", lost, cam.Dropped)
	}
	t.Logf("captured %d = tracked %d + dropped %v", cam.Captured, cam.Tracked, cam.Dropped)
}

// kill -9 of `facetrack up` itself: its children end by themselves and clean up.
func TestKillTheParent(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	r.killParent()
	r.noLeftovers()
}

// killParent ends facetrack up by kill -9 and waits until its children have ended, too.
func (r *rig) killParent() {
	r.t.Helper()
	children := r.status()
	if len(children) != len(stage.Names) {
		r.t.Fatalf("%d stages answer", len(children))
	}
	if err := r.cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	<-r.exited
	for name, s := range children {
		for end := time.Now().Add(deadline); syscall.Kill(s.PID, 0) == nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				r.t.Fatalf("%s outlives its parent", name)
			}
		}
	}
}

// SIGTERM of a stage is no order to do without it: it is started again, also capture.
func TestTerminatedStageIsBack(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	for _, name := range []string{stage.Detect, stage.Capture} {
		pid := r.status()[name].PID
		r.signal(pid, syscall.SIGTERM)
		r.eventually(name+" is back in the flow", func() bool {
			s := r.status()[name]
			return s.PID != 0 && s.PID != pid && s.Cameras["cam0"].Frames > 0
		})
	}
	last := r.status()[stage.LSLOut].Cameras["cam0"].Frames
	r.eventually("frames come to the last stage", func() bool { return r.status()[stage.LSLOut].Cameras["cam0"].Frames > last+10 })
	r.interrupt()
	s := r.mustEnd()
	if s.Restarts[stage.Detect] != 1 || s.Restarts[stage.Capture] != 1 {
		t.Errorf("restarts %v", s.Restarts)
	}
	checkRecording(t, r, s.Cameras["cam0"].Tracked)
	if all := tracks(t, r.path("a.jsonl")); all[len(all)-1].Seq+1 < uint64(len(all)) {
		t.Errorf("numbers began anew: the last of %d frames has number %d", len(all), all[len(all)-1].Seq)
	}
}

// A terminal that is closed ends the run in order.
func TestHangUp(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SKIPPED: the tests run under nohup, which children inherit")
	}
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	checkRecording(t, r, r.mustEnd().Cameras["cam0"].Tracked)
}

// A second rig of the same name on the same server is refused and does the first no harm.
func TestSameRigTwice(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config(""), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 10 })
	second := command(t, "up", "--rig", r.name, "--nats", r.url, "--source", "synthetic:", "--data-dir", r.path("second"))
	text, err := second.CombinedOutput()
	if err == nil {
		t.Error("the second rig ran")
	}
	oneClearLine(t, string(text), "already runs", "--rig")
	third := command(t, "up", "--rig", r.name, "--listen", "127.0.0.1:-1", "--source", "synthetic:", "--data-dir", r.dir)
	if text, err = third.CombinedOutput(); err == nil {
		t.Error("a third rig shares the data of the first")
	}
	oneClearLine(t, string(text), "in use", "--data-dir")
	r.interrupt()
	checkRecording(t, r, r.mustEnd().Cameras["cam0"].Tracked)
}
