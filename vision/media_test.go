package vision

import (
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	_ "image/png" // the still pictures
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/backends" // whatever this binary has
	"facetrack/internal/models"
	"facetrack/internal/testutil"
)

const bundle = "face_landmarker_v2_with_blendshapes.task"

// fromPicture makes a BGR frame.
func fromPicture(p image.Image) Image {
	b := p.Bounds()
	m := Image{Format: BGR, Width: b.Dx(), Height: b.Dy(), Pix: make([]byte, 3*b.Dx()*b.Dy())}
	for y := range m.Height {
		for x := range m.Width {
			c := color.NRGBAModel.Convert(p.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			o := 3 * (y*m.Width + x)
			m.Pix[o], m.Pix[o+1], m.Pix[o+2] = c.B, c.G, c.R
		}
	}
	return m
}

func openMedia(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(testutil.Assets(t), "media", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func readPicture(t testing.TB, name string) Image {
	t.Helper()
	p, _, err := image.Decode(openMedia(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return fromPicture(p)
}

// every thins out a clip's frames further where the networks are slow.
func every(step int) int {
	if underRace || infer.Backends()[0] == "reference" {
		return 3 * step
	}
	return step
}

// skipWhenSlow leaves out whole networks in plain Go under the race detector: minutes, and they share nothing.
func skipWhenSlow(t testing.TB) {
	t.Helper()
	if underRace && infer.Backends()[0] == "reference" {
		t.Skip("SKIPPED: the reference backend is too slow under the race detector; runs without -race, or with -tags xnnpack")
	}
}

// readClip returns every step-th frame of a GIF, composed as a viewer shows it.
func readClip(t testing.TB, name string, step int) []Image {
	t.Helper()
	g, err := gif.DecodeAll(openMedia(t, name))
	if err != nil {
		t.Fatal(err)
	}
	canvas := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	var frames []Image
	for i, p := range g.Image {
		before := append([]byte(nil), canvas.Pix...)
		draw.Draw(canvas, p.Bounds(), p, p.Bounds().Min, draw.Over)
		if i%step == 0 {
			frames = append(frames, fromPicture(canvas))
		}
		switch g.Disposal[i] {
		case gif.DisposalBackground:
			draw.Draw(canvas, p.Bounds(), image.Transparent, image.Point{}, draw.Src)
		case gif.DisposalPrevious:
			copy(canvas.Pix, before)
		}
	}
	return frames
}

func modelPath(t testing.TB, file string) string {
	t.Helper()
	return filepath.Join(testutil.Assets(t), "models", file)
}

func store(t testing.TB) *models.Store {
	t.Helper()
	s, err := models.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTestDetector(t testing.TB, file string, opts DetectorOptions) *Detector {
	t.Helper()
	return detectorOf(t, modelPath(t, file), opts)
}

func detectorOf(t testing.TB, model string, opts DetectorOptions) *Detector {
	t.Helper()
	skipWhenSlow(t)
	kind, session, err := store(t).Detector(model, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	d, err := NewDetector(kind, session, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newTestLandmarker(t testing.TB) *Landmarker {
	t.Helper()
	return landmarkerOf(t, modelPath(t, bundle))
}

func landmarkerOf(t testing.TB, model string) *Landmarker {
	t.Helper()
	skipWhenSlow(t)
	l, err := store(t).Landmarks(model, models.Options{Infer: infer.Options{MaxBatch: 4}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	lm, err := NewLandmarker(l.Points, l.Blendshapes, LandmarkerOptions{MaxBatch: 4})
	if err != nil {
		t.Fatal(err)
	}
	return lm
}
