//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/app"
	"facetrack/ipc"
)

const stored = "store: {enabled: true, max_gb: 0.05}\n"

// tool runs a command of facetrack on the rig's data.
func (r *rig) tool(args ...string) (string, error) {
	r.t.Helper()
	cmd := command(r.t, args...)
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *rig) mustTool(args ...string) string {
	r.t.Helper()
	out, err := r.tool(args...)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// here are the flags with which results are found that no server has open.
func (r *rig) here() []string { return []string{"--rig", r.name, "--data-dir", r.dir} }

func (r *rig) sessions(where ...string) (all []app.ListedSession) {
	r.t.Helper()
	cmd := command(r.t, append([]string{"sessions", "--json"}, where...)...)
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("sessions: %v", err)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		r.t.Fatal(err)
	}
	return all
}

type played struct {
	Session string
	Whole   bool
	Cameras map[string]app.PlayedAccount
}

// replayed runs a replay that is to succeed.
func (r *rig) replayed(args ...string) played {
	r.t.Helper()
	summary := filepath.Join(r.t.TempDir(), "replay.json")
	out := r.mustTool(append([]string{"replay", "--speed", "max", "--summary", summary}, args...)...)
	if strings.Contains(out, "level=") {
		r.t.Errorf("the replay warns:\n%s", out)
	}
	var p played
	if err := json.Unmarshal([]byte(read(r.t, summary)), &p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// sameTracks checks that two recordings have the same frames and faces, to the last digit. When the tracker was done with them is left out.
func sameTracks(t *testing.T, got, want string) {
	t.Helper()
	key := func(m ipc.Tracks) string { return fmt.Sprintf("%s %d", m.Camera, m.Seq) }
	text := func(m ipc.Tracks) string {
		m.Stamps.Tracks, m.Ack = 0, false
		data, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	a, b := map[string]string{}, map[string]string{}
	faces := 0
	for _, m := range tracks(t, want) {
		b[key(m)] = text(m)
		faces += len(m.Faces)
	}
	for _, m := range tracks(t, got) {
		a[key(m)] = text(m)
	}
	if len(a) != len(b) || faces == 0 {
		t.Errorf("%d frames, want %d, with %d faces", len(a), len(b), faces)
	}
	different := 0
	for k := range b {
		if a[k] != b[k] {
			different++
		}
	}
	if different > 0 {
		t.Errorf("%d of %d frames are others", different, len(b))
	}
}

// Two sessions of one rig, the first of two cameras: they are listed apart, and a replay of each finds what was found.
func TestReplayFindsTheSame(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	file := r.config(stored)
	two := r.up("--config", file, "--source", "synthetic:faces=2,frames=90", "--source", "synthetic:faces=1,frames=70,fps=25", "--pace", "max",
		"--record", r.path("a.jsonl")).mustEnd()
	r2 := *r
	r2.exited, r2.stderr = make(chan struct{}), &buffer{}
	os.Remove(r.path("summary.json"))
	r2.up("--config", file, "--source", "synthetic:faces=1,frames=60", "--pace", "max", "--record", r.path("b.jsonl")).mustEnd()

	all := r.sessions(r.here()...)
	if len(all) != 2 {
		t.Fatalf("%d sessions: %+v", len(all), all)
	}
	first := all[0]
	if first.Frames != 160 || len(first.Cameras) != 2 || !first.Orderly || !first.Whole || first.Bytes == 0 || first.Faces != two.Cameras["cam0"].Faces+two.Cameras["cam1"].Faces {
		t.Errorf("the first session: %+v", first)
	}
	if all[1].Frames != 60 || len(all[1].Cameras) != 1 {
		t.Errorf("the second session: %+v", all[1])
	}
	p := r.replayed(append(r.here(), "--session", first.ID, "--record", r.path("a2.jsonl"))...)
	if a := p.Cameras["cam0"]; p.Session != first.ID || a.Read != 90 || a.Tracked != 90 || a.Missing+a.DroppedThen+a.LSLDropped != 0 {
		t.Errorf("%+v", p)
	}
	sameTracks(t, r.path("a2.jsonl"), r.path("a.jsonl"))
	if p := r.replayed(append(r.here(), "--record", r.path("b2.jsonl"))...); p.Session != all[1].ID || len(p.Cameras) != 1 {
		t.Errorf("the latest: %+v", p)
	}
	sameTracks(t, r.path("b2.jsonl"), r.path("b.jsonl"))

	// With other settings it finds something else.
	r.replayed(append(r.here(), "--set", "tracker.smoothing.enabled=false", "--set", "tracker.keep_raw=true", "--record", r.path("raw.jsonl"))...)
	for _, m := range tracks(t, r.path("raw.jsonl")) {
		for _, f := range m.Faces {
			if f.Raw == nil || f.Points[0] != f.Raw.Points[0] {
				t.Fatalf("frame %d: smoothed, or without raw points", m.Seq)
			}
		}
	}
	if again := r.sessions(r.here()...); len(again) != 2 {
		t.Errorf("a replay is stored: %+v", again)
	}
}

// With credentials a reader lists and replays, while the rig runs; the session that runs ends where it was when the replay began.
func TestReaderReplays(t *testing.T) {
	t.Parallel()
	r := prepare(t).withCredentials()
	r.up("--config", r.config(stored), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 30 })
	own := t.TempDir()
	for _, name := range []string{"reader.nk", "ca.pem"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(read(t, filepath.Join(r.credentials, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all := r.sessions(r.here()...); len(all) != 1 || all[0].Orderly {
		t.Errorf("found by the rig's data, which are in use: %+v", all)
	}
	where := []string{"--rig", r.name, "--nats", r.url, "--credentials", own, "--data-dir", t.TempDir()}
	if all := r.sessions(where...); len(all) != 1 || all[0].Orderly || all[0].Frames < 30 {
		t.Errorf("%+v", all)
	}
	if a := r.replayed(append(where, "--record", r.path("b.jsonl"))...).Cameras["cam0"]; a.Tracked < 30 || a.Missing != 0 {
		t.Errorf("%+v", a)
	}
	before := r.status()["tracker"].Cameras["cam0"].Frames
	r.eventually("the rig runs on", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > before })
	r.interrupt()
	r.mustEnd()
	r.refusals()
}

// Killed with SIGKILL: the session has no end, and is listed and replayed all the same.
func TestSessionOfAKilledRig(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config(stored), "--source", "synthetic:faces=1,fps=30", "--record", r.path("a.jsonl"))
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 30 })
	r.killParent()
	all := r.sessions(r.here()...)
	if len(all) != 1 || all[0].Orderly || all[0].Frames < 30 || all[0].Cameras["cam0"].Frames != all[0].Frames {
		t.Fatalf("%+v", all)
	}
	if out := r.mustTool(append([]string{"sessions"}, r.here()...)...); !strings.Contains(out, "its end is not written down") {
		t.Errorf("%s", out)
	}
	if a := r.replayed(r.here()...).Cameras["cam0"]; a.Tracked < 30 || a.Missing != 0 {
		t.Errorf("%+v", a)
	}
}

// Limits have taken the beginning: the replay says from which frame on there are some.
func TestReplayOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config("store: {enabled: true, max_gb: 0.002, kinds: [landmarks, end]}\n"), "--source", "synthetic:faces=2,frames=300", "--pace", "max").mustEnd()
	out := r.mustTool(append([]string{"replay", "--speed", "max", "--summary", r.path("p.json")}, r.here()...)...)
	var p played
	if err := json.Unmarshal([]byte(read(t, r.path("p.json"))), &p); err != nil {
		t.Fatal(err)
	}
	a := p.Cameras["cam0"]
	if p.Whole || a.Gone == 0 || a.First != a.Gone || a.Read+a.Gone != 300 || a.Tracked != a.Read {
		t.Errorf("%+v", p)
	}
	if want := fmt.Sprintf("cam0 begins with frame %d: of those before, %d are not in the store (the limits of the store have taken them)", a.First, a.Gone); !strings.Contains(out, want) {
		t.Errorf("%q is missing in\n%s", want, out)
	}
	if out := r.mustTool(append([]string{"sessions"}, r.here()...)...); !strings.Contains(out, "its beginning is discarded") {
		t.Errorf("%s", out)
	}
}

// Everything that can be wrong about a replay is told in one line, and nothing is left behind.
func TestErrorsOfAReplay(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	file := r.config("store: {enabled: true, max_gb: 0.05, kinds: [tracks]}\n")
	r.up("--config", file, "--source", "synthetic:faces=1,frames=20", "--pace", "max").mustEnd()
	plain := prepare(t)
	plain.up("--config", plain.config(""), "--source", "synthetic:faces=1,frames=5", "--pace", "max").mustEnd()
	id := r.sessions(r.here()...)[0].ID
	for _, c := range []struct {
		name string
		at   *rig
		args []string
		want []string
	}{
		{"store is off", plain, []string{"replay"}, []string{"no results are stored", plain.name, "store.enabled"}},
		{"store is off", plain, []string{"sessions"}, []string{"no results are stored", plain.name, "store.enabled"}},
		{"unknown session", r, []string{"replay", "--session", "monday"}, []string{"no such session", `"monday"`, id}},
		{"no landmarks", r, []string{"replay"}, []string{id, "no landmarks", "store.kinds"}},
		{"a file that is there", r, []string{"replay", "--summary", file}, []string{file, "exists"}},
	} {
		out, err := c.at.tool(append(c.args, c.at.here()...)...)
		if err == nil {
			t.Errorf("%s: %s", c.name, out)
			continue
		}
		oneClearLine(t, out, c.want...)
	}
	if out, err := r.tool("sessions", "--rig", r.name, "--data-dir", t.TempDir()); err == nil {
		t.Errorf("another folder: %s", out)
	} else {
		oneClearLine(t, out, "no results are stored", "--data-dir")
	}
}

// The name under which a replay plays must be free.
func TestReplayUnderANameInUse(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config(stored), "--source", "synthetic:faces=1,fps=30")
	r.eventually("frames flow", func() bool { return r.status()["tracker"].Cameras["cam0"].Frames > 5 })
	live := prepare(t)
	live.up("--config", live.config(""), "--source", "synthetic:faces=1,fps=30", "--data-dir", r.dir)
	live.eventually("frames flow", func() bool { return live.status()["tracker"].Cameras["cam0"].Frames > 5 })
	for name, want := range map[string]string{r.name: "the rig of the session", live.name: "choose another name with --as", "a b": "not a name"} {
		out, err := r.tool(append([]string{"replay", "--nats", r.url, "--as", name}, r.here()...)...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A server without JetStream, or without room, is one line, and no reason not to run.
func TestStoreThatIsRefused(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.up("--config", r.config("store: {enabled: true, max_gb: 90000}\n"), "--source", "synthetic:faces=1,frames=20", "--pace", "max")
	if s := r.mustEnd(); s.Cameras["cam0"].Tracked != 20 {
		t.Errorf("%+v", s)
	}
	if out := r.stderr.String(); strings.Count(out, "level=") != 1 || !strings.Contains(out, "its results are not stored") || !strings.Contains(out, "no room for store.max_gb") {
		t.Errorf("%s", out)
	}
}
