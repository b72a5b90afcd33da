package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/app/supervise"
	"facetrack/internal/config"
	"facetrack/internal/fault"
	"facetrack/internal/models"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// run is Main with what it prints.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	stdout, stderr = printed(t, func() { code = Main(args) })
	return code, stdout, stderr
}

// expectLine checks what a user sees when something is wrong.
func expectLine(t *testing.T, text string, want ...string) {
	t.Helper()
	if strings.Count(text, "\n") != 1 {
		t.Errorf("not one line: %q", text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in %q", w, text)
		}
	}
}

func TestUsageErrorsHaveStatusTwo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"fly"}, "fly"},
		{[]string{"up", "--nonsense"}, "--nonsense"},
		{[]string{"record"}, "file"},
		{[]string{"models", "burn"}, "burn"},
		{[]string{"stage", "nothing"}, "capture"},
		{[]string{"stage", "detect", "--nonsense"}, "--nonsense"},
		{[]string{"stage", "detect", "--log-level", "loud"}, "log-level"},
	} {
		code, stdout, stderr := run(t, c.args...)
		if code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestFailuresHaveStatusOneAndOneLine(t *testing.T) {
	for _, c := range []struct {
		args, want []string
	}{
		{[]string{"up"}, []string{"facetrack: ", "no camera", "--source"}},
		{[]string{"up", "--config", "/none.yaml"}, []string{"none.yaml"}},
		{[]string{"up", "--source", "synthetic:faces=1", "--rig", "a b"}, []string{`rig is "a b"`}},
		{[]string{"status", "--nats", "nats://127.0.0.1:1"}, []string{"no NATS server", "127.0.0.1:1"}},
		{[]string{"record", "--nats", "nats://127.0.0.1:1", filepath.Join(t.TempDir(), "a.jsonl")}, []string{"no NATS server"}},
		{[]string{"stage", "detect", "--nats", "nats://127.0.0.1:1"}, []string{"detect: ", "no NATS server"}},
	} {
		code, stdout, stderr := run(t, c.args...)
		if code != 1 || stdout != "" {
			t.Errorf("%q: status %d, stdout %q", c.args, code, stdout)
		}
		expectLine(t, stderr, c.want...)
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := run(t, "version")
	if code != 0 || !strings.HasPrefix(stdout, "facetrack ") || stderr != "" {
		t.Errorf("status %d, %q, %q", code, stdout, stderr)
	}
}

// What no restart cures has a status of its own, for service managers.
func TestStageThatCannotRunHasItsOwnStatus(t *testing.T) {
	s := startNATS(t)
	file := write(t, "f.yaml", "detect: {model: ./none.onnx}\nlandmarks: {model: ./none.task}\n")
	for name, want := range map[string]string{"detect": "none.onnx", "landmarks": "none.task", "tracker": "none.task", "capture": "no camera"} {
		code, _, stderr := run(t, "stage", name, "--nats", s.ClientURL(), "--config", file, "--log-level", "error")
		if code != supervise.ExitConfig {
			t.Errorf("%s: status %d, want %d", name, code, supervise.ExitConfig)
		}
		expectLine(t, stderr, name+": ", want)
	}
}

// A supervised stage leaves the message to its parent.
func TestSupervisedStageIsSilent(t *testing.T) {
	s := startNATS(t)
	t.Setenv(supervisedEnv, "1")
	code, _, stderr := run(t, "stage", "capture", "--nats", s.ClientURL(), "--config", write(t, "f.yaml", ""), "--log-level", "error")
	if code != supervise.ExitConfig || stderr != "" {
		t.Errorf("status %d, stderr %q", code, stderr)
	}
}

func TestStageTakesItsConfiguration(t *testing.T) {
	nc := connect(t, startNATS(t))
	settings, err := openSettings(t.Context(), nc.Conn, "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	flags := StageFlags{}
	if _, _, err := flags.configuration(t.Context(), settings, quiet); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("nothing is stored: %v", err)
	}
	flags = StageFlags{Config: write(t, "g.yaml", "rig: own\n")}
	for _, s := range []*ipc.Settings{nil, settings} { // without JetStream, and with nothing stored
		if got, revision, err := flags.configuration(t.Context(), s, quiet); err != nil || got.Rig != "own" || revision != 0 {
			t.Errorf("own file: %+v, revision %d, %v", got, revision, err)
		}
	}
	want := mustConfigure(t, "--config", write(t, "f.yaml", twoCameras))
	want.Detect.ModelReason = "it was here"
	first, err := storeConfig(t.Context(), settings, want, "test")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := storeConfig(t.Context(), settings, want, "test"); err != nil || again != first {
		t.Errorf("the same again is revision %d, %v; want %d", again, err, first)
	}
	if got, revision, err := flags.configuration(t.Context(), settings, quiet); err != nil || got.Rig != "bench" || revision != first ||
		len(got.Cameras) != 2 || got.Detect.Every != 3 || got.Detect.ModelReason != "it was here" {
		t.Errorf("what is stored goes before the file: %+v, revision %d, %v", got, revision, err)
	}
	flags = StageFlags{Camera: []string{"right"}}
	if got, _, err := flags.configuration(t.Context(), settings, quiet); err != nil || len(flags.mine(got).Cameras) != 1 || flags.mine(got).Cameras[0].Name != "right" {
		t.Errorf("one camera: %+v, %v", got.Cameras, err)
	}
	flags.Camera = []string{"right", "middle"}
	if _, _, err := flags.configuration(t.Context(), settings, quiet); err == nil || !strings.Contains(err.Error(), "middle") {
		t.Errorf("a camera that is not there: %v", err)
	}
	flags = StageFlags{Rig: "flag"}
	if got, _, err := flags.configuration(t.Context(), settings, quiet); err != nil || got.Rig != "flag" {
		t.Errorf("the flag wins: %+v, %v", got, err)
	}
	if _, err := settings.Put(t.Context(), []byte("detect: {every: 0}\n"), first); err != nil {
		t.Fatal(err)
	}
	if got, revision, err := (&StageFlags{}).configuration(t.Context(), settings, quiet); err != nil || revision != first || got.Detect.Every != 3 {
		t.Errorf("the one before a stored configuration that cannot be: %+v, revision %d, %v", got, revision, err)
	}
}

// A bucket that was filled with something else keeps nobody from running who has a file; a server that gives no answer is asked again by
// the next process.
func TestStageWithoutAStoredConfigurationThatIsValid(t *testing.T) {
	nc := connect(t, startNATS(t))
	settings, err := openSettings(t.Context(), nc.Conn, "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Put(t.Context(), []byte(`{"type": "io.nats.jetstream.api.v1.stream_info_response"}`), 0); err != nil {
		t.Fatal(err)
	}
	with := StageFlags{Config: write(t, "g.yaml", "rig: own\n")}
	if got, revision, err := with.configuration(t.Context(), settings, quiet); err != nil || got.Rig != "own" || revision != 0 {
		t.Errorf("the file: %+v, revision %d, %v", got, revision, err)
	}
	if _, _, err := (&StageFlags{}).configuration(t.Context(), settings, quiet); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("without a file: %v", err)
	}
	nc.Conn.Close()
	if _, _, err := with.configuration(t.Context(), settings, quiet); !errors.Is(err, errUnread) || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("no answer: %v", err)
	}
}

// emptyMachine has no model anywhere; assets is the folder where they would be.
func emptyMachine(t *testing.T) (assets string) {
	t.Helper()
	assets = t.TempDir()
	t.Setenv("FACETRACK_ASSETS", assets)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if err := os.Mkdir(filepath.Join(assets, "models"), 0o700); err != nil {
		t.Fatal(err)
	}
	return assets
}

func TestModelsList(t *testing.T) {
	assets := emptyMachine(t)
	path := filepath.Join(assets, "models", "yunet_n_320_320.onnx")
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "models", "list")
	if code != 0 || stderr != "" {
		t.Errorf("status %d, %q", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 1+len(models.All()) {
		t.Fatalf("%d lines for %d models:\n%s", len(lines), len(models.All()), stdout)
	}
	for i, m := range models.All() {
		place := "not here"
		if m.Name == "yunet-320" {
			place = path
		}
		if m.Content != nil {
			place = "built in"
		}
		for _, want := range []string{m.Name, m.Licence, m.URL, place} {
			if !strings.Contains(lines[i+1], want) {
				t.Errorf("%q does not say %q", lines[i+1], want)
			}
		}
	}
}

func TestModelsVerify(t *testing.T) {
	assets := emptyMachine(t)
	if code, stdout, stderr := run(t, "models", "verify"); code != 1 || stdout != "" || !strings.Contains(stderr, "models fetch") {
		t.Errorf("nothing is there: status %d, %q, %q", code, stdout, stderr)
	}
	code, _, stderr := run(t, "models", "verify", "yunet-320")
	if code != 1 {
		t.Errorf("a missing model: status %d", code)
	}
	expectLine(t, stderr, "facetrack models fetch yunet-320")
	path := filepath.Join(assets, "models", "yunet_n_320_320.onnx")
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "models", "verify")
	if code != 1 || stdout != "" {
		t.Errorf("a damaged model: status %d, %q", code, stdout)
	}
	expectLine(t, stderr, path, "SHA-256", "fetch yunet-320")
	if code, stdout, stderr = run(t, "models", "verify", models.OwnDetector, models.OwnFace); code != 0 || strings.Count(stdout, "good (built in)") != 2 {
		t.Errorf("our own models: status %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr = run(t, "models", "verify", "unknown"); code != 1 || !strings.Contains(stderr, "yunet-320") {
		t.Errorf("an unknown model: status %d, %q", code, stderr)
	}
}

func TestTakenPortNamesTheCure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	code, _, stderr := run(t, "up", "--source", "synthetic:faces=1", "--listen", l.Addr().String(), "--data-dir", t.TempDir())
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "is taken", "--nats nats://"+l.Addr().String(), "--listen")
}

func TestBusNamesWhatIsWrong(t *testing.T) {
	cfg := mustConfigure(t, "--source", "synthetic:faces=1")
	cfg.DataDir = write(t, "a file", "") // no folder can be made in it
	for listen, want := range map[string]string{
		"nonsense": "nonsense", "127.0.0.1:http": "not a number", "127.0.0.1:-1": "--data-dir", "127.0.0.1:99999": "cannot listen",
	} {
		cfg.NATS.Listen = listen
		if s, err := startBus(t.Context(), cfg, quiet); err == nil || !strings.Contains(err.Error(), want) {
			_ = s.stop()
			t.Errorf("%s: %v, want %q", listen, err, want)
		}
	}
	if err := (*bus)(nil).stop(); err != nil {
		t.Error(err)
	}
}

func TestEveryStageHasAMainFunction(t *testing.T) {
	if len(stages) != len(stage.Names) {
		t.Errorf("%d main functions for %d stages", len(stages), len(stage.Names))
	}
	for _, name := range stage.Names {
		if stages[name] == nil {
			t.Errorf("stage %s has no main function", name)
		}
	}
	if got := oneLine(fmt.Errorf("a\n\tb  c")); got != "a b c" {
		t.Errorf("one line: %q", got)
	}
}

// What fails can be chosen for one stage, in addition to what fails for all.
func TestFaultsOfAStage(t *testing.T) {
	t.Cleanup(func() { fault.Plan("") })
	t.Setenv(fault.Variable, "all=1")
	t.Setenv(fault.Variable+"_LSL_OUT", "own=2")
	fault.Plan(os.Getenv(fault.Variable))
	planFaults(stage.Detect)
	if fault.Code("all") != 1 || fault.Code("own") != 0 {
		t.Errorf("in detect: all %q, own %q", fault.At("all"), fault.At("own"))
	}
	planFaults(stage.LSLOut)
	if fault.Code("all") != 1 || fault.Code("own") != 2 {
		t.Errorf("in lsl-out: all %q, own %q", fault.At("all"), fault.At("own"))
	}
}
