package modeleval

import (
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/topology"
	"facetrack/vision"
)

// drawn is a picture of drawn faces, and where these are.
func drawn(t *testing.T, faces int, frame int64) (*image.RGBA, []source.FaceTruth) {
	t.Helper()
	p, err := source.ParseSynthetic(fmt.Sprintf("synthetic:faces=%d,seed=3", faces))
	if err != nil {
		t.Fatal(err)
	}
	src := source.NewSynthetic(p)
	defer func() { _ = src.Close() }()
	if err := src.Skip(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Grab(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := vision.Image{Format: vision.BGR, Width: p.Width, Height: p.Height, Pix: make([]byte, src.Info().FrameBytes())}
	if err := src.Retrieve(m.Pix); err != nil {
		t.Fatal(err)
	}
	return picture(m), source.SyntheticTruth(p, frame)
}

func writePNG(t *testing.T, path string, img image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// madeUpAssets has two pictures of drawn faces.
func madeUpAssets(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, faces := range map[string]int{"one.png": 1, "two.png": 2} {
		img, _ := drawn(t, faces, 10)
		writePNG(t, filepath.Join(dir, "media", name), img)
	}
	img, _ := drawn(t, 1, 0)
	writePNG(t, filepath.Join(dir, "media", annotated), img)
	return dir
}

func squareOf(f source.FaceTruth) vision.Box {
	return vision.Box{f.CX - f.Size/2, f.CY - f.Size/2, f.Size, f.Size}
}

// madeUpHoldout has a scene of two drawn faces, and two crops: a face and nobody.
func madeUpHoldout(t *testing.T) (string, truth) {
	t.Helper()
	dir := t.TempDir()
	known := truth{Format: 1, Seed: 7, Points: topology.ICT.Name}
	img, faces := drawn(t, 2, 5)
	writePNG(t, filepath.Join(dir, "scene.png"), img)
	scene := truthScene{File: "scene.png"}
	for _, f := range faces {
		scene.Faces = append(scene.Faces, truthFace{Box: squareOf(f), Shown: 1})
	}
	known.Scenes = append(known.Scenes, scene)
	img, faces = drawn(t, 1, 5)
	writePNG(t, filepath.Join(dir, "face.png"), img)
	crop := truthCrop{File: "face.png", truthFace: pointsOf(faces[0]), Position: [3]float64{0, 0, 60}}
	for i := range vision.BlendshapeNames {
		crop.Coefficients = append(crop.Coefficients, testmodels.Blendshape(i))
	}
	nobody := crop
	nobody.File, nobody.Nobody = "nobody.png", true
	writePNG(t, filepath.Join(dir, nobody.File), image.NewRGBA(img.Bounds()))
	known.Crops = append(known.Crops, crop, nobody)
	writeTruth(t, dir, known)
	return dir, known
}

func writeTruth(t *testing.T, dir string, known truth) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, truthFile))
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	if err := errors.Join(json.NewEncoder(zipped).Encode(known), zipped.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// pointsOf are those of a drawn face, where the made-up face network finds them.
func pointsOf(f source.FaceTruth) truthFace {
	out := truthFace{Box: squareOf(f), Shown: 1, Five: [][2]float64{f.RightEye, f.LeftEye}}
	for _, p := range testmodels.FaceTemplate() {
		out.Points = append(out.Points, []float64{f.CX + p[0]*f.Size, f.CY + p[1]*f.Size, p[2] * f.Size})
	}
	return out
}

// madeUp are options with the networks for drawn faces on both sides.
type madeUp struct {
	Options
	face string // the network of our own kind
}

func madeUpOptions(t *testing.T) madeUp {
	t.Helper()
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	both := Models{files.Detector, files.Landmarks}
	return madeUp{Options{Ours: both, Reference: both, Threshold: 0.6, Note: t.Logf}, files.Face}
}

func TestRun(t *testing.T) {
	o := madeUpOptions(t)
	o.Assets, o.Sheets = madeUpAssets(t), t.TempDir()
	o.Holdout, _ = madeUpHoldout(t)
	r, err := Run(t.Context(), o.Options)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Clips) != 2 || r.All.Frames != 2 || r.All.SameRegion.Faces != 3 || r.All.Presence.Seen != 3 || r.All.OwnLoop.Followed != 3 || r.All.OwnLoop.Missing != 0 {
		t.Errorf("photographs: %+v", r.All)
	}
	// The same networks on both sides agree; our loop comes to the face by another way.
	if d := r.All.Detection; len(d.Faces) != 3 || d.Recall != 1 || d.AlarmShare != 0 || d.MeanIoU < 0.999 {
		t.Errorf("detection: %+v", d)
	}
	if r.All.SameRegion.Median > 1e-6 || r.All.OwnLoop.Median > 0.02 || r.All.Pose.Median > 1e-3 || r.All.Shapes.Difference > 1e-6 || r.All.Presence.Empty == 0 {
		t.Errorf("face network: %+v", r.All)
	}
	testWritten(t, o.Sheets, offsetsFile, "overlay-one.jpg", "overlay-two.jpg", "holdout-scenes.jpg", "holdout-crops.jpg")
	testWriting(t, r)
	testOffsets(t, filepath.Join(o.Sheets, offsetsFile))
}

// Both networks are the same, so that lines have no length.
func testOffsets(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var drawing struct {
		Circles []struct{} `xml:"circle"`
		Lines   []struct {
			D      string `xml:"d,attr"`
			Colour string `xml:"stroke,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(data, &drawing); err != nil || len(drawing.Circles) != 68 {
		t.Fatalf("%d points, %v", len(drawing.Circles), err)
	}
	for _, line := range drawing.Lines {
		var x, y, dx, dy float64
		if _, err := fmt.Sscanf(line.D, "M%f %fl%f %f", &x, &y, &dx, &dy); err != nil || line.Colour == "#00ffc8" && (dx != 0 || dy != 0) {
			t.Errorf("%+v: %v", line, err)
		}
	}
}

func testWritten(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() < 1000 || info.Size() > heaviest {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Drawn faces are what the made-up face network was calculated for, but for the grid of their pixels.
func TestRunOnRenderedPictures(t *testing.T) {
	o := madeUpOptions(t)
	o.Ours.Landmarks = o.face
	o.Holdout, _ = madeUpHoldout(t)
	r, err := Run(t.Context(), o.Options)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Holdout
	if h.AP24.AP != 1 || h.AP24.Faces != 2 || h.AP48.Faces != 2 || h.Seed != 7 || h.Nobody != 1 || h.Alarms != 0 || h.Seen != 1 {
		t.Errorf("%+v", h)
	}
	for name, k := range map[string]Truth{"ideal": h.Ideal, "own": h.Own} {
		if k.Faces != 1 || k.Error3D > 1e-3 || k.Error3D == 0 || k.All > 1e-3 || k.Coefficients > 1e-6 || k.Pose > 1e-3 {
			t.Errorf("%s: %+v", name, k)
		}
	}
	if h.Reference == nil || h.Reference.Faces != 1 || h.Reference.Error3D < 0.01 || h.definitions() == nil {
		t.Errorf("the reference has another set of points: %+v", h.Reference)
	}
	// That network knows neither size nor turn.
	if k := h.Moved; k.Error3D < 0.01 || k.Error3D > 0.2 || k.Coefficients > 1e-6 || k.Pose < 0.1 || k.Pose > 15 {
		t.Errorf("moved: %+v", k)
	}
}

func testWriting(t *testing.T, r *Report) {
	t.Helper()
	var text, document strings.Builder
	if err := errors.Join(r.Print(&text), r.Markdown(&document)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"two.png", "68 points", "Rendered scenes", "average precision"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(document.String(), want) {
			t.Errorf("%q is missing in\n%s\n%s", want, &text, &document)
		}
	}
	if strings.Contains(document.String(), os.TempDir()) {
		t.Error("where files lie is nobody's business")
	}
}

func TestRunSaysWhatItLeavesOut(t *testing.T) {
	o := madeUpOptions(t)
	r, err := Run(t.Context(), o.Options)
	if err != nil || r.All != nil || r.Holdout != nil || len(r.Requirements) != 0 || len(r.LeftOut) != 2 {
		t.Errorf("with nothing: %+v, %v", r, err)
	}
	o.Assets = t.TempDir()
	if r, err = Run(t.Context(), o.Options); err != nil || r.All != nil || !strings.Contains(strings.Join(r.LeftOut, "\n"), "no clip") {
		t.Errorf("an empty folder: %+v, %v", r, err)
	}
	o.Assets = madeUpAssets(t)
	o.Reference.Detector = filepath.Join(t.TempDir(), "none.onnx")
	if r, err = Run(t.Context(), o.Options); err != nil || r.All != nil || !strings.Contains(strings.Join(r.LeftOut, "\n"), "none.onnx") || len(r.Reference) != 0 {
		t.Errorf("without the public detector: %+v, %v", r, err)
	}
}

func TestRenderedPicturesThatCannotBeUsed(t *testing.T) {
	o := madeUpOptions(t)
	dir, good := madeUpHoldout(t)
	for name, spoil := range map[string]func(*truth){
		"format":  func(k *truth) { k.Format = 2 },
		"points":  func(k *truth) { k.Crops = []truthCrop{{File: "face.png", Coefficients: k.Crops[0].Coefficients}} },
		"picture": func(k *truth) { k.Scenes = []truthScene{{File: "none.jpg"}} },
	} {
		known := good
		spoil(&known)
		writeTruth(t, dir, known)
		o.Holdout = dir
		if _, err := Run(t.Context(), o.Options); !errors.Is(err, ErrHoldout) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Holdout = filepath.Join(dir, "none")
	if _, err := Run(t.Context(), o.Options); !errors.Is(err, ErrHoldout) {
		t.Errorf("no folder: %v", err)
	}
}

func TestMissingModelOfOurs(t *testing.T) {
	o := madeUpOptions(t)
	o.Ours.Landmarks = filepath.Join(t.TempDir(), "none.onnx")
	if _, err := Run(t.Context(), o.Options); err == nil || !strings.Contains(err.Error(), "none.onnx") {
		t.Errorf("%v", err)
	}
}
