package app

import (
	"errors"
	"os"
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
