package app

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

func TestConfigCheck(t *testing.T) {
	code, stdout, _ := run(t, "config", "check", write(t, "f.yaml", twoCameras))
	if code != 0 || !strings.Contains(stdout, "f.yaml is good: rig bench, 2 camera(s)") {
		t.Errorf("%d: %s", code, stdout)
	}
	code, _, stderr := run(t, "config", "check", write(t, "f.yaml", "detect:\n  evrey: 3\n"))
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "f.yaml line 2: unknown key \"evrey\" (did you mean \"every\"?)")
	_, _, stderr = run(t, "config", "check", "/nowhere.yaml")
	expectLine(t, stderr, "open /nowhere.yaml: no such file")
}

func TestConfigShow(t *testing.T) {
	t.Setenv("FACETRACK_TRACKER_KEEP_RAW", "true")
	t.Setenv("FACETRACK_DETECT_EVRY", "3")
	file := write(t, "f.yaml", "detect:\n  every: 3\n")
	code, stdout, stderr := run(t, "config", "show", file)
	if want := "detect.every: 3  # " + file + " line 2\ntracker.keep_raw: true  # FACETRACK_TRACKER_KEEP_RAW\n"; code != 0 || stdout != want {
		t.Errorf("%d:\n%s\nwant\n%s", code, stdout, want)
	}
	expectLine(t, stderr, "FACETRACK_DETECT_EVRY is no setting (did you mean FACETRACK_DETECT_EVERY?)")
	_, stdout, _ = run(t, "config", "show", "--effective", file)
	if !strings.Contains(stdout, "detect.max_faces: 16  # default\n") || !strings.Contains(stdout, "# FACETRACK_TRACKER_KEEP_RAW\n") {
		t.Errorf("effective:\n%s", stdout)
	}
	t.Setenv("FACETRACK_DETECT_EVERY", "0")
	_, _, stderr = run(t, "config", "show", file)
	expectLine(t, stderr, `FACETRACK_DETECT_EVERY: invalid configuration: detect.every is "0"; it must be 1 to 1000`)
}

// What is wrong when a rig starts is said with where it is from.
func TestUpNamesWhereAValueIsFrom(t *testing.T) {
	file := write(t, "f.yaml", twoCameras)
	_, _, stderr := run(t, "up", "--config", file, "--gpu", "first")
	expectLine(t, stderr, `--gpu: invalid configuration: cuda.gpu is "first"`)
	_, _, stderr = run(t, "up", "--config", file, "--pace", "slow")
	expectLine(t, stderr, "--pace")
	t.Setenv("FACETRACK_INFER_MODE", "fast")
	_, _, stderr = run(t, "up", "--config", file)
	expectLine(t, stderr, `FACETRACK_INFER_MODE: invalid configuration: infer.mode is "fast"; it must be one of ["latency" "balanced" "throughput"]`)
	t.Setenv("FACETRACK_INFER_MODE", "latency")
	if cfg := mustConfigure(t, "--config", file, "--infer-mode", "throughput"); cfg.Infer.Mode != "throughput" {
		t.Errorf("the flag does not go before the environment: %s", cfg.Infer.Mode)
	}
	if cfg := mustConfigure(t, "--config", file); cfg.Infer.Mode != "latency" {
		t.Errorf("the environment does not go before the file: %s", cfg.Infer.Mode)
	}
}

func TestConfigSchema(t *testing.T) {
	code, stdout, _ := run(t, "config", "schema")
	var s struct {
		Schema     string         `json:"$schema"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(stdout), &s); code != 0 || err != nil || !strings.Contains(s.Schema, "2020-12") || s.Properties["detect"] == nil {
		t.Errorf("%d, %v: %+v", code, err, s)
	}
}

// withStored is a server with a stored configuration of two cameras, of which nothing runs.
func withStored(t *testing.T) (url string, settings *ipc.Settings) {
	t.Helper()
	s := startNATS(t)
	settings, err := openSettings(t.Context(), connect(t, s).Conn, "bench", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storeConfig(t.Context(), settings, mustConfigure(t, "--config", write(t, "f.yaml", twoCameras)), "test"); err != nil {
		t.Fatal(err)
	}
	return s.ClientURL(), settings
}

func TestErrorsOfTheLiveConfiguration(t *testing.T) {
	url, settings := withStored(t)
	on := func(args ...string) []string { return append(args, "--nats", url, "--rig", "bench") }
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "")
	for want, args := range map[string][]string{
		`no configuration is stored for rig "other"`:         {"config", "get", "--nats", url, "--rig", "other"},
		`name the rig with --rig`:                            {"config", "set", "detect.every=3", "--nats", url, "--rig", "other"},
		"connect":                                            {"config", "history", "--nats", "nats://127.0.0.1:1"},
		`"detect.every" is no KEY=VALUE, as detect.every=3`:  on("config", "set", "detect.every"),
		`unknown setting "detect.evry" (did you mean`:        on("config", "get", "detect.evry"),
		`unknown setting "detect.evrey" (did you mean`:       on("config", "set", "detect.evrey=3"),
		`cameras[2].source is ""; it must be a path`:         on("config", "set", "cameras.third={fps: 3}"),
		"--wait=-1s: it must be positive":                    on("config", "set", "detect.every=2", "--wait=-1s"),
		"no editor: set VISUAL or EDITOR":                    on("config", "edit"),
		"there is no revision 7: the ones kept are 1 to 1":   on("config", "rollback", "7"),
		"there is no revision 8: the ones kept are 1 to 1":   on("config", "diff", "1", "8"),
		"f.yaml line 1: invalid configuration: detect.every": on("config", "put", write(t, "f.yaml", "detect: {every: 0}\n")),
	} {
		code, _, stderr := run(t, args...)
		if code != 1 {
			t.Errorf("%v: status %d", args, code)
		}
		expectLine(t, stderr, want)
	}
	if r, err := settings.Latest(t.Context()); err != nil || r.Number != 1 {
		t.Errorf("something was stored: %+v, %v", r, err)
	}
}

// With nobody running every setting can be changed, files be stored, and history read.
func TestConfigurationOfARigThatDoesNotRun(t *testing.T) {
	url, settings := withStored(t)
	on := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, append(args, "--nats", url, "--rig", "bench")...)
		if code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		return stdout
	}
	if out := on("config", "set", "ring.slots=9", "cameras.right="); out != "ring.slots: 8 -> 9\ncameras.right: removed\nrevision 2 is in effect in 0 process(es)\n" &&
		out != "cameras.right: removed\nring.slots: 8 -> 9\nrevision 2 is in effect in 0 process(es)\n" {
		t.Errorf("set:\n%s", out)
	}
	t.Setenv("VISUAL", `sed -i "s/slots: 9/slots: 10/"`)
	on("config", "edit")
	if out := on("config", "get", "ring.slots"); out != "ring.slots: 10\n" {
		t.Errorf("edited: %s", out)
	}
	file := write(t, "g.yaml", on("config", "get"))
	if out := on("config", "put", file); out != "nothing changes\n" {
		t.Errorf("what get prints is the same: %s", out)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	without := write(t, "h.yaml", regexp.MustCompile("(?m)^data_dir:.*\n").ReplaceAllString(on("config", "get"), ""))
	if out := on("config", "put", without); out != "nothing changes\n" {
		t.Errorf("a file that names no data_dir, put by somebody else: %s", out)
	}
	if _, err := settings.Put(t.Context(), []byte("nonsense: 1\n"), 3); err != nil {
		t.Fatal(err)
	}
	on("config", "rollback", "1")
	history := on("config", "history")
	for _, want := range []string{"test", "set ring.slots=9 cameras.right=", "edit", `refused: invalid configuration: revision 4 line 1: unknown key "nonsense"`, "rollback to revision 1"} {
		if !strings.Contains(history, want) {
			t.Errorf("the history does not say %q:\n%s", want, history)
		}
	}
	if out := on("config", "diff", "1", "5"); out != "" {
		t.Errorf("after going back:\n%s", out)
	}
}

func TestFirstConfigurationOfARig(t *testing.T) {
	s := startNATS(t)
	code, stdout, stderr := run(t, "config", "put", write(t, "f.yaml", twoCameras), "--nats", s.ClientURL(), "--rig", "bench")
	if code != 0 || stdout != "revision 1 is in effect in 0 process(es)\n" {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

// Of two who change the same revision the second is told who was first; a process that refuses has all put back, one that is silent is named.
func TestWhoConfirms(t *testing.T) {
	url, settings := withStored(t)
	s, err := openStore(t.Context(), BusFlags{NATS: url, Rig: "bench"}, auth.Up, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	before, last, err := s.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.save(t.Context(), "late", time.Second, &before, before, last-1, nil); err == nil ||
		!strings.Contains(err.Error(), "was changed meanwhile (revision 1, ") || !strings.Contains(err.Error(), ": test): nothing was stored") {
		t.Errorf("conflict: %v", err)
	}
	running := []telemetry.Stats{{Stage: stage.Detect, PID: os.Getpid()}, {Stage: stage.Tracker, PID: 7}}
	answer := func(ctx context.Context, refused string) {
		seen, err := settings.Watch(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			for r := range seen {
				if r.Number > last {
					_ = ipc.Applied{Stage: stage.Detect, Revision: r.Number, Refused: refused}.Tell(s.nc.Conn, "bench")
				}
			}
		}()
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer(ctx, "")
	next := before
	next.Detect.Every = 4
	_, err = s.save(ctx, "x", 100*time.Millisecond, &before, next, last, running)
	if err == nil || !strings.Contains(err.Error(), "revision 2 is stored, but after 100ms it is not confirmed by tracker (process 7); see facetrack status") {
		t.Errorf("a silent process: %v", err)
	}
	cancel()
	last = 2
	answer(t.Context(), "camera c: not found")
	_, err = s.save(t.Context(), "x", time.Minute, &before, next, last, running[:1])
	if err == nil || err.Error() != "revision 3 is refused by detect: camera c: not found; what was before is put back as revision 4" {
		t.Errorf("a process that refuses: %v", err)
	}
	if cfg, _, err := s.current(t.Context()); err != nil || len(config.Changes(before, cfg)) != 0 {
		t.Errorf("what was before is back: %v", err)
	}
}

func TestStatusTellsTheConfiguration(t *testing.T) {
	var out strings.Builder
	printConfiguration(&out, []telemetry.Stats{
		{Stage: "capture", Config: telemetry.Configuration{Revision: 3}},
		{Stage: "detect", Config: telemetry.Configuration{Revision: 2, Later: 3, Refused: "it\nis wrong"}},
		{Stage: "tracker"}, {Stage: "lsl-out", Config: telemetry.Configuration{Revision: 2}},
	})
	want := "configuration: revision 3\ndetect: configuration revision 2, as it refuses 3: it is wrong\ntracker: configuration of a file\nlsl-out: configuration revision 2\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
