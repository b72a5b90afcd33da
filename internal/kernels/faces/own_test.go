package faces

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/image"
	"facetrack/topology"
	"facetrack/vision"
)

// own is what a network with all outputs of vision.FaceOutputs puts out for the regions of one frame, each output for all faces.
type own struct {
	*found
	spread, coefficients, turn []float32
}

func newOwn(w, h, n int, seed uint64) *own {
	rng := rand.New(rand.NewPCG(seed, 8))
	f := &own{found: newFound(w, h, n, seed)}
	f.raw = f.raw[:3*topology.ICT.Count*n]
	f.spread, f.coefficients, f.turn = make([]float32, topology.ICT.Count*n), make([]float32, 52*n), make([]float32, 6*n)
	uniform(rng, f.spread, -6, -1)
	uniform(rng, f.coefficients, 0, 1)
	uniform(rng, f.turn, -1, 1)
	return f
}

func (f *own) infos() []infer.Info {
	points := topology.ICT.Count
	return []infer.Info{
		{Shape: []int{1, 1, 3 * points}}, {Shape: []int{1, 1, points}}, {Shape: []int{1, 1, 1}}, {Shape: []int{1, 1, 52}}, {Shape: []int{1, 1, 6}},
	}
}

// want is what vision says.
func (f *own) want() ([]vision.FaceResult, error) {
	network := &network{in: []infer.Info{{Shape: []int{1, 192, 192, 3}}}, out: f.infos(), values: [][]float32{f.raw, f.spread, f.logits, f.coefficients, f.turn}}
	l, err := vision.NewLandmarker(network, nil, vision.LandmarkerOptions{Retries: -1, MaxBatch: len(f.rois)})
	if err != nil {
		return nil, err
	}
	return l.Run(f.image, f.rois)
}

// runOwn does everything behind the network, and returns what the records say.
func (r *rig) runOwn(f *own) (results []Result, errs []error) {
	r.Helper()
	outputs, err := vision.FindFaceOutputs(f.infos())
	r.must(err)
	mesh := NewMesh(outputs, 192)
	var list []byte
	frame := image.Frame{Address: r.put(f.image.Pix), Format: f.image.Format, Width: f.image.Width, Height: f.image.Height}
	for _, roi := range f.rois {
		list, err = image.AppendRegion(list, frame, roi, mesh.Size)
		r.must(err)
	}
	n, each, regions := len(f.rois), mesh.RecordBytes(), r.put(list)
	at := PointsAt{
		Raw: r.floats(f.raw), Presence: r.floats(f.logits), Spread: r.floats(f.spread), Coefficients: r.floats(f.coefficients), Turn: r.floats(f.turn),
		Regions: regions + image.RegionPlace, RegionBytes: image.RegionBytes, Records: r.take(n * each), Places: r.take(n * PlaceBytes),
	}
	r.must(r.set.Points(r.stream, mesh, at, n), r.images.Appearance(r.stream, regions, at.Places, n, at.Records+AppearanceOffset, each))
	raw := r.download(at.Records, n*each)
	r.taken = 0
	for i, roi := range f.rois {
		result, err := mesh.Parse(raw[i*each:(i+1)*each], roi, 0.5, With{Blendshapes: true, Appearance: true})
		results, errs = append(results, result), append(errs, err)
	}
	return results, errs
}

func TestPointsOfOurOwnNetworkAreVisions(t *testing.T) {
	r := newRig(t)
	for seed, side := range [][2]int{{640, 480}, {64, 48}, {3000, 40}} {
		f := newOwn(side[0], side[1], 5, uint64(seed))
		f.logits[2] = -3     // not there
		clear(f.turn[6:12])  // no rotation
		f.rois[3].Size *= 20 // far beyond the frame
		want, err := f.want()
		r.must(err)
		results, errs := r.runOwn(f)
		r.must(errs...)
		for i, w := range want {
			what := fmt.Sprintf("%v, face %d", side, i)
			r.sameResult(what, results[i], w)
			r.sameList(what+", confidence", results[i].Confidence, w.Confidence, 0)
			if (results[i].Turn == nil) != (w.Turn == nil) || w.Turn != nil && *results[i].Turn != *w.Turn {
				t.Errorf("%s: turn %v, want %v", what, results[i].Turn, w.Turn)
			}
			if (len(w.Blendshapes) == 52) != (i != 2) || len(w.Confidence) != topology.ICT.Count || (w.Turn == nil) != (i == 1) {
				t.Errorf("%s: vision left out what it should not: %d blendshapes, %d confidences, turn %v", what, len(w.Blendshapes), len(w.Confidence), w.Turn)
			}
		}
	}
}

// A value that is not finite in any output is an error of its own face alone.
func TestOwnNetworkThatIsNotFinite(t *testing.T) {
	r := newRig(t)
	f := newOwn(64, 48, 6, 1)
	points := topology.ICT.Count
	for _, v := range []*float32{&f.raw[3*points-1], &f.spread[2*points-1], &f.logits[2], &f.coefficients[3*52], &f.turn[4*6+5]} {
		*v = float32(math.NaN())
	}
	if _, err := f.want(); !errors.Is(err, vision.ErrNonFinite) {
		t.Fatal(err)
	}
	_, errs := r.runOwn(f)
	for i, err := range errs {
		if errors.Is(err, vision.ErrNonFinite) != (i < 5) {
			t.Errorf("face %d: %v", i, err)
		}
	}
}
