package app

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"facetrack/internal/models"
	"facetrack/internal/testutil"
)

func parseBenchInfer(t *testing.T, args ...string) *BenchInferCmd {
	t.Helper()
	var cli CLI
	parser, err := kong.New(&cli, kong.Vars{"stages": "detect"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"bench", "infer"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &cli.Bench.Infer
}

func TestBenchInferOptions(t *testing.T) {
	testutil.Assets(t) // twin: TestRun of package inferbench, on drawn faces
	o, err := parseBenchInfer(t).options()
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Networks) != 5 || len(o.Chains) != 4 || len(o.Batches) != 3 || len(o.Precisions) != 2 || o.GPU != "auto" || o.Runs != 300 {
		t.Errorf("by default: %+v", o)
	}
	o, err = parseBenchInfer(t, "--networks", "blazeface", "--chains", "none", "--batches", "2", "--precision", "fp16", "--python", "").options()
	if err != nil || len(o.Networks) != 1 || len(o.Chains) != 0 || o.Batches[0] != 2 || o.Precisions[0] != "fp16" || o.Script != "" {
		t.Errorf("as told: %+v, %v", o, err)
	}
}

func TestBenchInferExports(t *testing.T) {
	testutil.Assets(t) // twin: TestExport of package inferbench
	folder := filepath.Join(t.TempDir(), "new")
	if err := parseBenchInfer(t, "--networks", "blendshapes", "--export", folder).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 || !strings.HasPrefix(entries[0].Name(), "blendshapes.") {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestBenchInferWithoutModels(t *testing.T) {
	if err := parseBenchInfer(t, "--landmarks", "none.task").Run(t.Context()); !errors.Is(err, models.ErrMissing) {
		t.Errorf("%v", err)
	}
}

// The published figures pass the check that scripts/gpu-check.sh makes; worse ones, and missing ones, do not.
func TestCheckOfInferFigures(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here: the check of figures is not tested")
	}
	published, err := os.ReadFile(filepath.Join(testutil.RepoRoot(), "docs/benchmarks/infer.json"))
	if err != nil {
		t.Fatal(err)
	}
	row := func(network string, batch int, p50 string) string {
		return fmt.Sprintf(`{"network":%q,"precision":"fp16","batch":%d,"p50_us":%s}`, network, batch, p50)
	}
	of := func(find, ours, torch string) string {
		return fmt.Sprintf(`{"rows":[%s,%s,%s,%s,%s],"torch":{"rows":[%s,%s,%s]}}`, strings.Replace(row("find", 1, find), "{", `{"chain":true,`, 1),
			row("yunet", 1, "5"), row("yunet", 8, ours), row("yunet", 64, "5"), `{"network":"find","precision":"fp32","batch":1,"chain":true}`,
			row("yunet", 1, "6"), row("yunet", 8, torch), row("yunet", 64, "6"))
	}
	for name, c := range map[string]struct{ text, want string }{
		"published":       {string(published), ""},
		"good":            {of("200", "5", "5.1"), ""},
		"slow find":       {of("200.1", "5", "6"), "find fp16, batch 1: 200.1 us"},
		"slower network":  {of("200", "5", "5"), "yunet fp16, batch 8: 5 us, PyTorch 5"},
		"failed in torch": {of("200", "5", "null"), "yunet fp16, batch 8: 5 us, PyTorch None"},
		"without torch":   {strings.Replace(of("200", "5", "6"), `"torch"`, `"none"`, 1), "yunet fp16, batch 64: 5 us, PyTorch None"},
		"nothing":         {"{}", "no network was measured"},
	} {
		check := filepath.Join(testutil.RepoRoot(), "scripts/bench/check_infer.py")
		text, err := exec.Command("python3", check, write(t, "infer.json", c.text)).CombinedOutput() //nolint:gosec // a script of the sources
		if (err == nil) != (c.want == "") || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, text)
		}
	}
}
