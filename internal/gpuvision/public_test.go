package gpuvision

import (
	"image"
	_ "image/png" // the still pictures
	"math"
	"os"
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/internal/models"
	"facetrack/internal/testutil"
	"facetrack/vision"
)

// picture is a frame of the public material.
func (r *rig) picture(name string) vision.Image {
	r.Helper()
	file, err := os.Open(filepath.Join(testutil.Assets(r), "media", name))
	r.must(err)
	p, _, err := image.Decode(file)
	r.must(err, file.Close())
	b := p.Bounds()
	m := vision.Image{Format: vision.BGR, Width: b.Dx(), Height: b.Dy(), Pix: make([]byte, 3*b.Dx()*b.Dy())}
	for i := range b.Dx() * b.Dy() {
		red, green, blue, _ := p.At(b.Min.X+i%b.Dx(), b.Min.Y+i/b.Dx()).RGBA()
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = byte(blue>>8), byte(green>>8), byte(red>>8)
	}
	return m
}

func (r *rig) public(assets string) *models.Store {
	r.Helper()
	r.Setenv("FACETRACK_ASSETS", assets)
	store, err := models.NewStore()
	r.must(err)
	return store
}

// A real face in the public networks, from the picture to the scores.
func TestPublicNetworks(t *testing.T) {
	assets := testutil.Assets(t)
	r := newRig(t)
	store, m := r.public(assets), r.picture("astronaut.png")
	for _, name := range []string{"yunet-320", "blazeface"} {
		kind, graph, err := store.DetectorGraph(name, false)
		r.must(err)
		v, err := vision.NewDetector(kind, r.reference(graph), vision.DetectorOptions{})
		r.must(err)
		want, err := v.Detect(m)
		r.must(err)
		if len(want) != 1 {
			t.Fatalf("%s: %d faces", name, len(want))
		}
		for precision, bound := range map[string]struct{ pixels, iou float64 }{infer.FP32: {1e-2, 0.999}, infer.FP16: {2, 0.98}} {
			x, err := NewDetector(r.device, kind, graph, vision.DetectorOptions{}, Options{Precision: precision, MaxBatch: 1})
			r.must(err)
			sights, err := x.Detect([]Frame{{Image: m}})
			r.must(err, sights[0].Err, x.Close())
			r.compareFaces(sights[0].Faces, want, bound.pixels, bound.iou)
		}
		r.publicLandmarks(store, m, vision.ROIFromFace(want[0]))
	}
}

func (r *rig) publicLandmarks(store *models.Store, m vision.Image, roi vision.ROI) {
	r.Helper()
	graphs, err := store.LandmarkGraphs("face-landmarker", false)
	r.must(err)
	r.points, r.shapes = graphs.Points, graphs.Blendshapes
	views := []view{{m, []vision.ROI{roi}}}
	want := r.expected(views, vision.LandmarkerOptions{})
	if p := want[0][0].Presence; math.Abs(p-1) > 0.1 {
		r.Fatalf("presence %g", p)
	}
	for precision, b := range bounds {
		x := r.newLandmarker(vision.LandmarkerOptions{}, Options{Precision: precision, MaxBatch: 1})
		found, err := x.Find([]Look{{Frame{Image: m}, views[0].rois}})
		r.must(err)
		r.compareAll(found, want, b)
	}
}
