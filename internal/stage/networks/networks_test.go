package networks

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/config"
	"facetrack/internal/models"
	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/internal/testutil"
	"facetrack/topology"
	"facetrack/track"
	"facetrack/vision"
)

// configured names the drawn faces' networks by their paths.
func configured(t *testing.T) config.Config {
	t.Helper()
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Infer.Backend = "reference"
	cfg.Detect.Model, cfg.Landmarks.Model = files.Detector, files.Landmarks
	return cfg
}

// nowhere makes a machine without any model.
func nowhere(t *testing.T) {
	t.Helper()
	t.Setenv("FACETRACK_ASSETS", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
}

func picture(t *testing.T) (vision.Image, source.FaceTruth) {
	t.Helper()
	p, err := source.ParseSynthetic("synthetic:faces=1")
	if err != nil {
		t.Fatal(err)
	}
	src := source.NewSynthetic(p)
	if _, err := src.Grab(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := vision.Image{Format: vision.BGR, Width: 640, Height: 480, Pix: make([]byte, src.Info().FrameBytes())}
	if err := src.Retrieve(m.Pix); err != nil {
		t.Fatal(err)
	}
	return m, source.SyntheticTruth(p, 0)[0]
}

func TestDetectorOfAPath(t *testing.T) {
	d, err := OpenDetector(configured(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if d.Backend() != "reference" {
		t.Errorf("backend %q", d.Backend())
	}
	image, truth := picture(t)
	faces, err := d.Detect(image)
	if err != nil || len(faces) != 1 {
		t.Fatalf("%d faces, %v", len(faces), err)
	}
	if x, y := faces[0].Box.Center(); math.Hypot(x-truth.CX, y-truth.CY) > 1 {
		t.Errorf("a face at %.1f, %.1f, drawn at %.1f, %.1f", x, y, truth.CX, truth.CY)
	}
}

func TestDetectorTakesItsThresholds(t *testing.T) {
	cfg := configured(t)
	cfg.Detect.ScoreThreshold = 1 // above any score
	d, err := OpenDetector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	image, _ := picture(t)
	if faces, err := d.Detect(image); err != nil || len(faces) != 0 {
		t.Errorf("%d faces above the threshold, %v", len(faces), err)
	}
}

func TestLandmarksOfAPath(t *testing.T) {
	l, err := OpenLandmarks(configured(t), 0.5)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if l.Backend() != "reference" || l.Topology() != topology.MediaPipe {
		t.Errorf("backend %q, points of %s", l.Backend(), l.Topology().Name)
	}
	image, truth := picture(t)
	results, err := l.Run(image, []vision.ROI{{CX: truth.CX, CY: truth.CY, Size: 1.5 * truth.Size}})
	if err != nil || results[0].Presence < 0.9 || len(results[0].Blendshapes) != 52 {
		t.Fatalf("results %+v, %v", results, err)
	}
	p := results[0].Points[testmodels.RightIris]
	if math.Hypot(p[0]-truth.RightEye[0], p[1]-truth.RightEye[1]) > 1 {
		t.Errorf("right iris at %v, drawn at %v", p, truth.RightEye)
	}
}

// A network of our own kind beside any detector.
func TestFaceNetworkOfAPath(t *testing.T) {
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Infer.Backend, cfg.Landmarks.Model = "reference", files.Face
	l, err := OpenLandmarks(cfg, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	image, truth := picture(t)
	results, err := l.Run(image, []vision.ROI{{CX: truth.CX, CY: truth.CY, Size: 1.5 * truth.Size}})
	if err != nil || results[0].Presence < 0.9 || len(results[0].Blendshapes) != 52 || len(results[0].Confidence) != topology.ICT.Count {
		t.Fatalf("results %+v, %v", results, err)
	}
	p := results[0].Points[topology.ICT.Eyes[0].Iris]
	if math.Hypot(p[0]-truth.RightEye[0], p[1]-truth.RightEye[1]) > 1 {
		t.Errorf("right iris at %v, drawn at %v", p, truth.RightEye)
	}
	head, err := OpenHead(cfg)
	if err != nil || head.Topology() != l.Topology() {
		t.Errorf("head %+v, %v", head, err)
	}
}

// Below the presence given, a face has points alone: blendshapes of nobody are wasted work.
func TestLandmarksTakeTheirPresence(t *testing.T) {
	l, err := OpenLandmarks(configured(t), 1.5)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	image, truth := picture(t)
	results, err := l.Run(image, []vision.ROI{{CX: truth.CX, CY: truth.CY, Size: 1.5 * truth.Size}})
	if err != nil || len(results[0].Points) != 478 || results[0].Blendshapes != nil {
		t.Errorf("%d points, %d blendshapes, %v", len(results[0].Points), len(results[0].Blendshapes), err)
	}
}

// The bundle's head is the template, 16 cm wide: its frontal picture 96 px wide is at rest, far in front of the camera.
func TestHeadOfAPath(t *testing.T) {
	solver, err := OpenHead(configured(t))
	if err != nil {
		t.Fatal(err)
	}
	var points [][3]float32
	for _, p := range testmodels.Template() {
		points = append(points, [3]float32{float32(320 + 96*p[0]), float32(240 + 96*p[1]), float32(96 * p[2])})
	}
	pose, err := solver.Solve(points, track.Camera{Width: 640, Height: 480, HFOVDegrees: 60}, nil)
	if err != nil {
		t.Fatal(err)
	}
	focal := 320 / math.Tan(math.Pi/6)
	if math.Abs(pose.Z/(focal*16/96)-1) > 0.05 || math.Abs(pose.Yaw) > 2 || math.Abs(pose.Roll) > 1 || math.Abs(pose.X) > 0.5 {
		t.Errorf("pose %+v, want it frontal at %.1f cm", pose, focal*16/96)
	}
}

func TestMissingModelNamesTheCure(t *testing.T) {
	nowhere(t)
	cfg := config.Default()
	cfg.Detect.Model, cfg.Landmarks.Model = "yunet-320", "face-landmarker"
	open := map[string]func() error{
		"yunet-320": func() error { _, err := OpenDetector(cfg); return err },
		"face-landmarker": func() error {
			_, err := OpenLandmarks(cfg, 0.5)
			_, headErr := OpenHead(cfg)
			if !errors.Is(headErr, models.ErrMissing) {
				t.Errorf("head: %v", headErr)
			}
			return err
		},
	}
	for name, f := range open {
		if err := f(); !errors.Is(err, models.ErrMissing) || !strings.Contains(err.Error(), "facetrack models fetch "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg.Detect.Model = filepath.Join("no", "such.onnx")
	if _, err := OpenDetector(cfg); !errors.Is(err, models.ErrMissing) || !strings.Contains(err.Error(), cfg.Detect.Model) {
		t.Errorf("a path: %v", err)
	}
	cfg.Detect.Model = "yunet"
	if _, err := OpenDetector(cfg); !errors.Is(err, models.ErrUnknown) {
		t.Errorf("an unknown name: %v", err)
	}
}

// Without any file the program has models of its own, and says why it takes them.
func TestOwnModels(t *testing.T) {
	nowhere(t)
	cfg := config.Default()
	if err := Choose(&cfg); err != nil || cfg.Detect.Model != models.OwnDetector || cfg.Landmarks.Model != models.OwnFace {
		t.Fatalf("%+v, %+v, %v", cfg.Detect, cfg.Landmarks, err)
	}
	for _, why := range []string{cfg.Detect.ModelReason, cfg.Landmarks.ModelReason} {
		if !strings.Contains(why, "not found: facetrack models fetch") {
			t.Errorf("because %q", why)
		}
	}
	d, err := OpenDetector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLandmarks(cfg, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	head, err := OpenHead(cfg)
	if err != nil || l.Topology() != topology.ICT || head.Topology() != topology.ICT || head.Gaze() == nil {
		t.Errorf("points of %s, head %+v, %v", l.Topology().Name, head, err)
	}
	if err := errors.Join(d.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

// A name that somebody gave is never replaced.
func TestChoiceLeavesNamesAlone(t *testing.T) {
	nowhere(t)
	cfg := config.Default()
	cfg.Landmarks.Model = "face-landmarker"
	if err := Choose(&cfg); err != nil || cfg.Landmarks.Model != "face-landmarker" || cfg.Landmarks.ModelReason != "" || cfg.Detect.Model != models.OwnDetector {
		t.Errorf("%+v, %+v, %v", cfg.Detect, cfg.Landmarks, err)
	}
	chosen := cfg
	if err := Choose(&chosen); err != nil || chosen.Detect.ModelReason != cfg.Detect.ModelReason {
		t.Errorf("chosen again: %+v, %v", chosen.Detect, err)
	}
}

func TestModelsOfTheWrongKind(t *testing.T) {
	cfg := configured(t)
	detector, bundle := cfg.Detect.Model, cfg.Landmarks.Model
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bundle, text} { // this bundle has no detector
		cfg.Detect.Model = path
		if d, err := OpenDetector(cfg); !errors.Is(err, models.ErrContent) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s as a detector: %v, %v", filepath.Base(path), d, err)
		}
	}
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Detect.Model = files.Face
	if _, err := OpenDetector(cfg); !errors.Is(err, vision.ErrModel) {
		t.Errorf("a face network as a detector: %v", err)
	}
	for _, path := range []string{detector, text} {
		cfg.Landmarks.Model = path
		if _, err := OpenLandmarks(cfg, 0.5); !errors.Is(err, models.ErrContent) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s as a bundle: %v", filepath.Base(path), err)
		}
		if _, err := OpenHead(cfg); !errors.Is(err, models.ErrContent) {
			t.Errorf("%s as a head: %v", filepath.Base(path), err)
		}
	}
}

func TestUnknownBackend(t *testing.T) {
	cfg := configured(t)
	cfg.Infer.Backend = "abacus"
	if _, err := OpenDetector(cfg); err == nil || !strings.Contains(err.Error(), "abacus") {
		t.Errorf("detector: %v", err)
	}
	if _, err := OpenLandmarks(cfg, 0.5); err == nil || !strings.Contains(err.Error(), "abacus") {
		t.Errorf("landmarks: %v", err)
	}
}

// A file of one's own has no known hash; a public name always does.
func TestOnlyPathsMayBeUnverified(t *testing.T) {
	cfg := config.Default()
	cfg.Infer.Threads = 3
	for name, own := range map[string]bool{"yunet-320": false, "blazeface": false, "mine.onnx": true, "dir/mine": true, "./x": true} {
		got := options(cfg, name)
		if want := (infer.Options{Backend: "auto", Precision: "auto", Threads: 3, GPU: "auto"}); got.Unverified != own || got.Infer != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Where the public models are, they are what is chosen.
func TestPublicModels(t *testing.T) {
	t.Setenv("FACETRACK_ASSETS", testutil.Assets(t))
	cfg := config.Default()
	if err := Choose(&cfg); err != nil || cfg.Detect.Model != "yunet-320" || cfg.Landmarks.Model != "face-landmarker" || cfg.Detect.ModelReason == "" {
		t.Fatalf("%+v, %+v, %v", cfg.Detect, cfg.Landmarks, err)
	}
	d, err := OpenDetector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLandmarks(cfg, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if l.Topology() != topology.MediaPipe {
		t.Errorf("points of %s", l.Topology().Name)
	}
	if _, err := OpenHead(cfg); err != nil {
		t.Error(err)
	}
	if err := errors.Join(d.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}
