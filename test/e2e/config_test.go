//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/stage"
	"facetrack/ipc"
)

// live is a rig of two cameras whose configuration is changed.
type live struct {
	*rig
	nc *nats.Conn
}

func newLive(t *testing.T, args ...string) *live {
	t.Helper()
	r := prepare(t)
	file := r.config(`cameras:
  - {name: left, source: "synthetic:faces=1,size=320x240,fps=30"}
  - {name: right, source: "synthetic:faces=1,size=320x240,fps=30"}
`)
	// The programs that are started here take a small machine's CPUs for longer than rings and queues are deep.
	r.env = append(r.env, "FACETRACK_RING_SLOTS=64", "FACETRACK_RING_MIN_SLOTS=64", "FACETRACK_DETECT_MAX_QUEUE=60", "FACETRACK_LANDMARKS_MAX_QUEUE=60")
	r.up(append([]string{"--config", file, "--record", r.path("rec.jsonl")}, args...)...)
	r.eventually("both cameras are tracked", func() bool {
		c := r.status()[stage.Tracker].Cameras
		return c["left"].Faces > 10 && c["right"].Faces > 10
	})
	nc, err := nats.Connect(r.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &live{r, nc}
}

// command runs `facetrack config …` on the rig.
func (l *live) command(args ...string) (out string, err error) {
	l.t.Helper()
	args = append([]string{"config"}, args...)
	b, err := exec.Command(program, append(args, "--nats", l.url, "--rig", l.name)...).CombinedOutput() //nolint:gosec // the program under test
	return string(b), err
}

func (l *live) must(args ...string) string {
	l.t.Helper()
	out, err := l.command(args...)
	if err != nil {
		l.t.Fatalf("config %v: %v\n%s", args, err, out)
	}
	return out
}

func (l *live) refused(want []string, args ...string) {
	l.t.Helper()
	out, err := l.command(args...)
	if err == nil {
		l.t.Errorf("config %v is accepted:\n%s", args, out)
		return
	}
	oneClearLine(l.t, out, want...)
}

// stored is when the latest revision was.
func (l *live) stored() time.Time {
	l.t.Helper()
	e, err := l.bucket().Get(l.t.Context(), "config")
	if err != nil {
		l.t.Fatal(err)
	}
	return e.Created()
}

// bucket is that of the configuration, as any other program sees it.
func (l *live) bucket() jetstream.KeyValue {
	l.t.Helper()
	js, err := jetstream.New(l.nc)
	if err != nil {
		l.t.Fatal(err)
	}
	kv, err := js.KeyValue(l.t.Context(), ipc.SettingsBucket(l.name))
	if err != nil {
		l.t.Fatal(err)
	}
	return kv
}

// within checks that the latest revision shows in what comes out within a second.
func (l *live) within(what string, come <-chan time.Time) {
	l.t.Helper()
	select {
	case at := <-come:
		if d := at.Sub(l.stored()); d > time.Second {
			l.t.Errorf("%s: after %s", what, d)
		} else {
			l.t.Logf("%s after %s", what, d.Round(time.Millisecond))
		}
	case <-time.After(deadline):
		l.t.Fatalf("never: %s", what)
	}
}

// watch tells when a message of a camera first shows what is looked for.
func watch[M any](l *live, camera string, kind ipc.Kind, decode func([]byte) (M, error), shows func(M) bool) <-chan time.Time {
	l.t.Helper()
	come := make(chan time.Time, 1)
	var once sync.Once
	sub, err := l.nc.Subscribe(ipc.Subject(l.name, camera, kind), func(m *nats.Msg) {
		if v, err := decode(m.Data); err == nil && shows(v) {
			once.Do(func() { come <- time.Now() })
		}
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := l.nc.Flush(); err != nil {
		l.t.Fatal(err)
	}
	return come
}

// Settings change while the rig runs, cameras come and go, and no frame of the others is dropped.
func TestConfigurationChangesLive(t *testing.T) {
	l := newLive(t)
	before := map[string]int{}
	for name, s := range l.status() {
		before[name] = s.PID
	}

	var last uint64
	inARow := 0
	everyFrame := watch(l, "left", ipc.KindDetections, ipc.DecodeDetections, func(d ipc.Detections) bool {
		if inARow++; !d.Ran || d.Seq != last+1 {
			inARow = 0
		}
		last = d.Seq
		return inARow >= 3
	})
	if out := l.must("set", "detect.every=1"); !strings.Contains(out, "detect.every: 5 -> 1") || !strings.Contains(out, "5 process(es)") {
		t.Errorf("set says:\n%s", out)
	}
	l.within("every frame is looked at", everyFrame)

	blind := watch(l, "right", ipc.KindDetections, ipc.DecodeDetections, func(d ipc.Detections) bool { return d.Ran && len(d.Faces) == 0 })
	l.must("set", "detect.score_threshold=1")
	l.within("the threshold hides faces from the detector", blind)
	l.must("set", "detect.score_threshold=0.6")

	raw := watch(l, "left", ipc.KindTracks, ipc.DecodeTracks, func(m ipc.Tracks) bool {
		return len(m.Faces) > 0 && m.Faces[0].Raw != nil && slices.Equal(m.Faces[0].Raw.Points, m.Faces[0].Points)
	})
	l.must("set", "tracker.smoothing.enabled=false", "tracker.keep_raw=true")
	l.within("points are as they were measured", raw)

	third := watch(l, "third", ipc.KindTracks, ipc.DecodeTracks, func(m ipc.Tracks) bool { return len(m.Faces) > 0 })
	l.must("set", `cameras.third={source: "synthetic:faces=2,size=320x240,fps=30"}`)
	l.within("the added camera's faces are tracked", third)
	ended := watch(l, "third", ipc.KindEnd, ipc.DecodeEnd, func(e ipc.End) bool { return e.Reason == ipc.EndRemoved })
	l.must("set", "cameras.third=")
	l.within("the camera ends", ended)
	l.eventually("everybody has forgotten it", func() bool {
		for _, s := range l.status() {
			if _, there := s.Cameras["third"]; there {
				return false
			}
		}
		return true
	})

	l.refused([]string{"camera third", "nowhere.mkv", "capture", "put back as revision"}, "set", "cameras.third={source: /nowhere.mkv}")
	after := l.status()
	for name, pid := range before {
		if after[name].PID != pid {
			t.Errorf("%s was started again", name)
		}
	}

	history := l.must("history")
	for _, want := range []string{"facetrack up", "set detect.every=1", "set cameras.third=", "put back: revision"} {
		if !strings.Contains(history, want) {
			t.Errorf("the history does not say %q:\n%s", want, history)
		}
	}
	if out := l.must("diff", "1", "2"); strings.TrimSpace(out) != "detect.every: 5 -> 1" {
		t.Errorf("diff says:\n%s", out)
	}
	l.must("rollback", "1")
	if out := l.must("get", "detect.every", "tracker.keep_raw"); out != "detect.every: 5\ntracker.keep_raw: false\n" {
		t.Errorf("after the rollback:\n%s", out)
	}

	l.interrupt()
	s := l.mustEnd()
	for _, name := range []string{"left", "right", "third"} {
		c := s.Cameras[name]
		if c.Tracked == 0 || c.TotalDropped() != 0 {
			t.Errorf("%s: %d tracked, dropped %v", name, c.Tracked, c.Dropped)
		}
	}
	if end := s.Cameras["third"].End; end != ipc.EndRemoved {
		t.Errorf("third ended: %q", end)
	}
}

// What cannot be is refused in one line that says why, and nothing changes.
func TestConfigurationThatIsRefused(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	for _, c := range []struct {
		args, want []string
	}{
		{[]string{"set", "detect.evry=3"}, []string{`unknown setting "detect.evry"`, `did you mean "detect.every"?`}},
		{[]string{"set", "detect.every=0"}, []string{`detect.every is "0"; it must be 1 to 1000`}},
		{[]string{"set", "detect.every"}, []string{`"detect.every" is no KEY=VALUE`}},
		{[]string{"set", "detect.model=blazeface"}, []string{"detect.model needs a restart of detect", "the network is loaded"}},
		{[]string{"set", "cameras.left.fps=10"}, []string{"cameras.left.fps needs a restart of capture", "remove it and add it again"}},
		{[]string{"set", "cameras.left=", "cameras.right="}, []string{"no camera would be left"}},
		{[]string{"set", "cameras.middle="}, []string{`there is no camera named "middle"`}},
		{[]string{"rollback", "99"}, []string{"there is no revision 99", "1 to 1"}},
	} {
		l.refused(c.want, c.args...)
	}
	if out := l.must("set", "detect.every=5"); out != "nothing changes\n" {
		t.Errorf("the same again: %s", out)
	}

	if _, err := l.bucket().Put(t.Context(), "config", []byte("detect:\n  evrey: 3\n")); err != nil { // as nats kv put does
		t.Fatal(err)
	}
	l.eventually("all have refused it", func() bool {
		for _, name := range stage.Names {
			if c := l.rig.status()[name].Config; c.Later != 2 || c.Revision != 1 {
				return false
			}
		}
		return true
	})
	for _, name := range stage.Names {
		if c := l.status()[name].Config; !strings.Contains(c.Refused, `line 2: unknown key "evrey" (did you mean "every"?)`) {
			t.Errorf("%s refuses it because %q", name, c.Refused)
		}
	}
	if n := strings.Count(l.stderr.String(), "configuration refused"); n != len(stage.Names) {
		t.Errorf("%d lines say that it is refused, want one of each stage:\n%s", n, l.stderr)
	}

	// A stage that is killed takes the one before, and a change by command puts things right.
	l.signal(l.status()[stage.Tracker].PID, syscall.SIGKILL)
	l.eventually("the tracker is back with revision 1", func() bool {
		s, ok := l.status()[stage.Tracker]
		return ok && s.Config.Revision == 1 && s.Cameras["left"].Frames > 0
	})
	l.must("set", "detect.every=2")
	if out := l.must("get", "detect.every"); out != "detect.every: 2\n" {
		t.Error(out)
	}
	l.interrupt()
	l.mustEnd()
}

// Of two who change the same revision, one is told.
func TestTwoWritersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	editor := l.write("editor.sh", fmt.Sprintf("#!/bin/sh\nsed -i 's/every: 5/every: 7/' \"$1\"\n%q config set detect.every=3 --nats %q --rig %q\n", program, l.url, l.name))
	cmd := exec.Command(program, "config", "edit", "--nats", l.url, "--rig", l.name) //nolint:gosec // the program under test
	cmd.Env = append(cmd.Environ(), "VISUAL=sh "+editor)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "was changed meanwhile (revision 2, ") || !strings.Contains(string(out), "set detect.every=3") {
		t.Errorf("the second writer is told: %v\n%s", err, out)
	}
	if out := l.must("get", "detect.every"); out != "detect.every: 3\n" {
		t.Error(out)
	}
	l.interrupt()
	l.mustEnd()
}

// A stage that was killed and is started again takes what counts now, with the cameras of now.
func TestRestartedStagesTakeTheCurrentConfiguration(t *testing.T) {
	l := newLive(t)
	l.must("set", "detect.every=1", `cameras.third={source: "synthetic:faces=1,size=320x240,fps=30"}`)
	l.must("set", "cameras.right=")
	before := l.status()
	for _, name := range []string{stage.Capture, stage.Detect} {
		l.signal(before[name].PID, syscall.SIGKILL)
	}
	l.eventually("both are back with revision 3 and its cameras", func() bool {
		now := l.status()
		for _, name := range []string{stage.Capture, stage.Detect} {
			s := now[name]
			if _, removed := s.Cameras["right"]; removed || s.PID == before[name].PID || s.Config.Revision != 3 || s.Cameras["third"].Frames == 0 || s.Cameras["left"].Frames == 0 {
				return false
			}
		}
		return true
	})
	ran := watch(l, "third", ipc.KindDetections, ipc.DecodeDetections, func(d ipc.Detections) bool { return d.Ran && d.Seq%5 == 3 })
	<-ran
	l.interrupt()
	l.mustEnd()
}

// Within one process all is as with five.
func TestConfigurationChangesLiveInThreads(t *testing.T) {
	l := newLive(t, "--threads")
	third := watch(l, "third", ipc.KindTracks, ipc.DecodeTracks, func(m ipc.Tracks) bool { return len(m.Faces) > 0 })
	if out := l.must("set", `cameras.third={source: "synthetic:faces=1,size=320x240,fps=30"}`, "tracker.keep_raw=true"); !strings.Contains(out, "5 process(es)") {
		t.Errorf("set says:\n%s", out)
	}
	l.within("the added camera's faces are tracked", third)
	l.must("set", "cameras.third=")
	l.interrupt()
	s := l.mustEnd()
	for _, name := range []string{"left", "right", "third"} {
		if c := s.Cameras[name]; c.Tracked == 0 || c.TotalDropped() != 0 {
			t.Errorf("%s: %d tracked, dropped %v", name, c.Tracked, c.Dropped)
		}
	}
}
