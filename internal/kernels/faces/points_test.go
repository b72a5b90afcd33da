package faces

import (
	"encoding/binary"
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

var mesh = Mesh{Set: topology.MediaPipe, Size: 192}

// found is a landmark network's outputs for regions of one frame.
type found struct {
	image  vision.Image
	rois   []vision.ROI
	raw    []float32
	logits []float32
	scores []float32 // of the blendshape network
}

func newFound(w, h, n int, seed uint64) *found {
	rng := rand.New(rand.NewPCG(seed, 4))
	f := &found{image: vision.Image{Format: vision.BGR, Width: w, Height: h, Pix: make([]byte, 3*w*h)},
		raw: make([]float32, 3*478*n), logits: make([]float32, n), scores: make([]float32, 52*n)}
	for i := range f.image.Pix {
		f.image.Pix[i] = byte(rng.Uint32())
	}
	uniform(rng, f.raw, -20, 210)
	uniform(rng, f.logits, 0.1, 8)
	uniform(rng, f.scores, 0, 1)
	for range n {
		f.rois = append(f.rois, vision.ROI{CX: rng.Float64() * float64(w), CY: rng.Float64() * float64(h), Size: 20 + 400*rng.Float64(),
			Rotation: 7 * (rng.Float64() - 0.5)})
	}
	return f
}

// want is what vision says.
func (f *found) want(threshold float64) ([]vision.FaceResult, error) {
	shapes := &network{in: []infer.Info{{Shape: []int{1, 146, 2}}}, out: []infer.Info{{Shape: []int{52}}}}
	for i := range f.logits { // that network is run for the faces that are there
		if 1/(1+math.Exp(-float64(f.logits[i]))) >= threshold {
			if len(shapes.values) == 0 {
				shapes.values = [][]float32{nil}
			}
			shapes.values[0] = append(shapes.values[0], f.scores[52*i:52*(i+1)]...)
		}
	}
	points := &network{in: []infer.Info{{Shape: []int{1, 192, 192, 3}}},
		out: []infer.Info{{Shape: []int{1, 1434}}, {Shape: []int{1, 1}}}, values: [][]float32{f.raw, f.logits}}
	l, err := vision.NewLandmarker(points, shapes, vision.LandmarkerOptions{PresenceThreshold: threshold, Retries: -1, MaxBatch: len(f.rois)})
	if err != nil {
		return nil, err
	}
	return l.Run(f.image, f.rois)
}

// output is what the kernels left.
type output struct {
	records [][]byte
	places  []byte
	shapes  []byte // the blendshape network's input
}

// run does everything behind the landmark network without a look at it, scores of the blendshape network included.
func (r *rig) run(f *found) output {
	r.Helper()
	var list []byte
	frame := image.Frame{Address: r.put(f.image.Pix), Format: f.image.Format, Width: f.image.Width, Height: f.image.Height}
	for _, roi := range f.rois {
		var err error
		list, err = image.AppendRegion(list, frame, roi, mesh.Size)
		r.must(err)
	}
	n, each, regions := len(f.rois), mesh.RecordBytes(), r.put(list)
	at := PointsAt{Raw: r.floats(f.raw), Presence: r.floats(f.logits), Regions: regions + image.RegionPlace, RegionBytes: image.RegionBytes,
		Records: r.take(n * each), Places: r.take(n * PlaceBytes), Blendshapes: r.take(n * BlendshapeInputBytes)}
	r.must(r.set.Points(r.stream, mesh, at, n),
		r.images.Appearance(r.stream, regions, at.Places, n, at.Records+AppearanceOffset, each),
		r.set.Collect(r.stream, mesh, r.floats(f.scores), at.Records, n))
	out := output{places: r.download(at.Places, n*PlaceBytes), shapes: r.download(at.Blendshapes, n*BlendshapeInputBytes)}
	raw := r.download(at.Records, n*each)
	for i := range n {
		out.records = append(out.records, raw[i*each:(i+1)*each])
	}
	r.taken = 0
	return out
}

func double(data []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
}

func TestPointsAreVisions(t *testing.T) {
	r := newRig(t)
	for seed, side := range [][2]int{{640, 480}, {64, 48}, {3000, 40}, {8000, 2}} {
		f := newFound(side[0], side[1], 5, uint64(seed))
		f.logits[2] = -3 // not there
		want, err := f.want(0.5)
		r.must(err)
		out := r.run(f)
		for i, w := range want {
			got, err := mesh.Parse(out.records[i], f.rois[i], 0.5, With{Blendshapes: true, Appearance: true})
			r.must(err)
			r.sameResult(fmt.Sprintf("%v, face %d", side, i), got, w)
			r.samePlace(fmt.Sprintf("%v, place %d", side, i), out.places[i*PlaceBytes:], w)
			for k, index := range vision.BlendshapeIndices {
				for c := range 2 {
					at := 4 * (2*(len(vision.BlendshapeIndices)*i+k) + c)
					input := math.Float32frombits(binary.LittleEndian.Uint32(out.shapes[at:]))
					r.near("the blendshape network's input", float64(input), w.Points[index][c]-[2]float64{f.rois[i].CX, f.rois[i].CY}[c], 1e-4)
				}
			}
		}
	}
}

func (r *rig) sameResult(what string, got Result, want vision.FaceResult) {
	r.Helper()
	r.near(what+", presence", got.Presence, want.Presence, 1e-7)
	for i, p := range want.Points {
		for c := range p {
			r.near(fmt.Sprintf("%s, point %d", what, i), got.Points[i][c], p[c], 1e-3)
		}
	}
	box := vision.PointsBox(want.Points)
	for i := range box {
		r.near(what+", box", got.Box[i], box[i], 1e-3)
	}
	next, err := want.Next()
	if got.HasNext != (err == nil) {
		r.Fatalf("%s: next region %v, vision %v", what, got.HasNext, err)
	}
	if err == nil {
		r.near(what+", next x", got.Region.CX, next.CX, 1e-3)
		r.near(what+", next y", got.Region.CY, next.CY, 1e-3)
		r.near(what+", next side", got.Region.Size, next.Size, 1e-3)
		r.near(what+", next rotation", got.Region.Rotation, next.Rotation, 1e-6)
	}
	r.sameList(what+", appearance", got.Appearance, want.Appearance, 1e-3)
	r.sameList(what+", blendshapes", got.Blendshapes, want.Blendshapes, 0)
}

func (r *rig) sameList(what string, got, want []float64, bound float64) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= bound) {
			r.Fatalf("%s, value %d: %v, want %v", what, i, got[i], want[i])
		}
	}
}

// samePlace compares what is left on the device for image.Appearance, in float64.
func (r *rig) samePlace(what string, got []byte, f vision.FaceResult) {
	r.Helper()
	next, err := f.Next()
	r.must(err)
	sin, cos := math.Sincos(next.Rotation)
	for i, want := range []float64{next.CX, next.CY, next.Size, sin, cos} {
		if d := math.Abs(double(got, i) - want); !(d <= 1e-8) {
			r.Fatalf("%s, number %d: off by %g", what, i, d)
		}
	}
}

// Points in one place, absurdly far ones, and what is not finite: no next region, and the last an error of its own face alone.
func TestPointsWithoutNext(t *testing.T) {
	r := newRig(t)
	f := newFound(64, 48, 6, 1)
	fill := func(face int, v float32) {
		for i := range 3 * 478 {
			f.raw[face*3*478+i] = v
		}
	}
	fill(0, 96)
	fill(1, 3e30)
	out := r.run(f)
	want, err := f.want(0.5)
	r.must(err)
	for i, w := range want {
		got, err := mesh.Parse(out.records[i], f.rois[i], 0.5, With{Appearance: true})
		r.must(err)
		if _, err := w.Next(); got.HasNext != (err == nil) || got.HasNext != (i > 1) || len(got.Appearance) > 0 != got.HasNext {
			t.Errorf("face %d: next %v, vision %v, appearance %v", i, got.HasNext, err, got.Appearance)
		}
	}

	f.raw[2*3*478+1433] = float32(math.NaN())
	f.raw[3*3*478] = float32(math.Inf(1))
	f.logits[4] = float32(math.NaN())
	if _, err := f.want(0.5); !errors.Is(err, vision.ErrNonFinite) {
		t.Fatal(err)
	}
	out = r.run(f)
	for i, record := range out.records {
		_, err := mesh.Parse(record, f.rois[i], 0.5, With{Appearance: true})
		if bad := i >= 2 && i <= 4; errors.Is(err, vision.ErrNonFinite) != bad || bad && binary.LittleEndian.Uint64(out.places[i*PlaceBytes+40:]) != 0 {
			t.Errorf("face %d: %v", i, err)
		}
	}
}

func TestBlendshapesThatAreNotFinite(t *testing.T) {
	r := newRig(t)
	f := newFound(64, 48, 2, 1)
	f.scores[52+7] = float32(math.Inf(-1))
	out := r.run(f)
	for i, record := range out.records {
		if _, err := mesh.Parse(record, f.rois[i], 0.5, With{Blendshapes: true}); errors.Is(err, vision.ErrNonFinite) != (i == 1) {
			t.Errorf("face %d: %v", i, err)
		}
		if _, err := mesh.Parse(record, f.rois[i], 0.5, With{}); err != nil {
			t.Errorf("face %d without blendshapes: %v", i, err)
		}
	}
}
