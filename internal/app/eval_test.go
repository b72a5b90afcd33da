package app

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/modeleval"
	"facetrack/internal/models"
	"facetrack/internal/testmodels"
)

// evalFolder has a picture without faces, so that the networks of drawn faces have nothing to find.
func evalFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "media"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "media", "grey.png"), greyPNG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEval(t *testing.T) {
	t.Setenv("FACETRACK_HOLDOUT", "")
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "new")
	args := []string{
		"eval", "--detector", files.Detector, "--landmarks", files.Face, "--against-detector", files.Detector, "--against-landmarks", files.Landmarks,
		"--assets", evalFolder(t), "--out", out, "--backend", "reference",
	}
	code, stdout, stderr := run(t, args...)
	if code != 0 || !strings.Contains(stdout, "Faces found") || !strings.Contains(stdout, "grey.png") || !strings.Contains(stderr, "training/holdout.py") {
		t.Fatalf("status %d, %s\n%s", code, stdout, stderr)
	}
	var report modeleval.Report
	data, err := os.ReadFile(filepath.Join(out, "eval.json"))
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil || report.All.Frames != 1 || len(report.Detector.SHA256) != 64 || report.Detector.Backend != "reference" || report.Landmarks.Name != "face.onnx" {
		t.Errorf("%+v, %v", report, err)
	}
	for _, name := range []string{"eval.md", "overlay-grey.jpg"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Nobody is there, so nothing is missed.
	if code, _, stderr = run(t, append(args, "--require")...); code != 0 {
		t.Errorf("status %d, %s", code, stderr)
	}
}

func TestEvalRequire(t *testing.T) {
	report := &modeleval.Report{Requirements: []modeleval.Requirement{
		{Name: "points", Value: 0.07, Limit: 0.06}, {Name: "faces", Value: 1, Limit: 0.95, AtLeast: true, Kept: true},
	}}
	if err := (&EvalCmd{}).verdict(report); err != nil {
		t.Errorf("not asked for: %v", err)
	}
	err := (&EvalCmd{Require: true}).verdict(report)
	if err == nil || !strings.Contains(err.Error(), "points: 0.070, required at most 0.06") || strings.Contains(err.Error(), "faces") {
		t.Errorf("%v", err)
	}
}

func TestEvalRefusesNonsense(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", "--threshold", "2"}, "--threshold"},
		{[]string{"eval", "--threshold=-1"}, "--threshold"},
		{[]string{"eval", "--detector", "none.onnx"}, "none.onnx"},
		{[]string{"eval", "--holdout", "/none"}, "training/holdout.py"},
		{[]string{"eval", "--out", filepath.Join(os.Args[0], "below")}, "--out"},
	} {
		code, _, stderr := run(t, append(c.args, "--assets", t.TempDir())...)
		if code != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %q", c.args, code, stderr)
		}
	}
}

func TestEvalMeasuresOurOwnByDefault(t *testing.T) {
	t.Setenv("FACETRACK_HOLDOUT", "")
	code, stdout, stderr := run(t, "eval", "--assets", t.TempDir())
	if code != 0 || strings.Count(stdout, "Left out") != 2 {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
	cli, err := parse(t, "eval")
	if err != nil || cli.Eval.Detector != models.OwnDetector || cli.Eval.Landmarks != models.OwnFace {
		t.Errorf("%+v", cli.Eval)
	}
}

func greyPNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
