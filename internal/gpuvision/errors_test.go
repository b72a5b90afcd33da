package gpuvision

import (
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
	"facetrack/vision"
)

var errWait = errors.New("the frame's writer has ended")

// wrong are frames that cannot be looked at, and why.
func (r *rig) wrong(m vision.Image, waits *int) (frames []Frame, why []error) {
	r.Helper()
	short, strange, odd := m, m, r.onDevice(m, waits)
	short.Pix = m.Pix[1:]
	strange.Format = "RGB"
	odd.Device += 2
	huge := r.onDevice(m, waits)
	huge.Image.Width = 1 << 20
	late := r.onDevice(m, waits)
	late.Wait = func(*cuda.Stream) error { *waits++; return errWait }
	lateHost := Frame{Image: m, Wait: late.Wait}
	return []Frame{{Image: short}, {Image: strange}, odd, huge, late, lateHost},
		[]error{vision.ErrImage, vision.ErrImage, vision.ErrImage, vision.ErrImage, errWait, errWait}
}

// A frame that cannot be looked at takes no other along, and is not waited for.
func TestWrongFrames(t *testing.T) {
	r := newRig(t)
	m, truth := r.drawn(vision.BGR, 320, 240, 1)
	waits := 0
	frames, why := r.wrong(m, &waits)
	frames, why = append(frames, Frame{Image: m}, r.onDevice(m, &waits)), append(why, nil, nil)
	x := r.newDetector(vision.DetectorOptions{}, Options{MaxBatch: 2})
	sights, err := x.Detect(frames)
	r.must(err)
	for i, s := range sights {
		if !errors.Is(s.Err, why[i]) || (len(s.Faces) == 1) != (why[i] == nil) {
			t.Errorf("frame %d: %d faces, %v, want %v", i, len(s.Faces), s.Err, why[i])
		}
	}
	if waits != 3 {
		t.Errorf("%d waits, want 3", waits)
	}
	waits = 0
	l := r.newLandmarker(vision.LandmarkerOptions{}, Options{MaxBatch: 2})
	var looks []Look
	for _, f := range frames {
		looks = append(looks, Look{f, []vision.ROI{region(truth[0], 0, 0)}})
	}
	for _, bad := range []vision.ROI{{Size: math.NaN()}, {CX: 1e9, Size: 9}, {}} {
		looks = append(looks, Look{r.onDevice(m, &waits), []vision.ROI{region(truth[0], 0, 0), bad}})
		why = append(why, vision.ErrROI)
	}
	found, err := l.Find(looks)
	r.must(err)
	for i, f := range found {
		if !errors.Is(f.Err, why[i]) || (len(f.Faces) == 1) != (why[i] == nil) {
			t.Errorf("look %d: %d faces, %v, want %v", i, len(f.Faces), f.Err, why[i])
		}
	}
	if waits != 3 {
		t.Errorf("%d waits, want 3", waits)
	}
	nothing, err := l.Find(looks[:2])
	if r.must(err); nothing[0].Err == nil || nothing[1].Err == nil {
		t.Errorf("of wrong ones alone: %+v", nothing)
	}
	if none, err := x.Detect(nil); err != nil || len(none) != 0 {
		t.Errorf("no frames: %v, %v", none, err)
	}
}

// overflowing makes a network's numbers infinite wherever it sees a drawn face.
func overflowing(g *infer.Graph) *infer.Graph {
	g = g.Clone()
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op == infer.Conv2D {
			w := &g.Values[n.Inputs[1]]
			w.Data = append([]float32(nil), w.Data...)
			for k := range w.Data {
				w.Data[k] *= 3e38
			}
			return g
		}
	}
	return g
}

// Numbers that are not finite are the error of their frame alone.
func TestNotFinite(t *testing.T) {
	r := newRig(t)
	m, truth := r.drawn(vision.BGR, 320, 240, 1)
	dark := vision.Image{Format: vision.BGR, Width: 320, Height: 240, Pix: make([]byte, 3*320*240)}
	r.detector, r.points = overflowing(r.detector), overflowing(r.points)
	sights, err := r.newDetector(vision.DetectorOptions{}, Options{Precision: infer.FP32, MaxBatch: 3}).Detect([]Frame{{Image: dark}, {Image: m}, {Image: dark}})
	r.must(err)
	x := r.newLandmarker(vision.LandmarkerOptions{}, Options{Precision: infer.FP32, MaxBatch: 3})
	roi := region(truth[0], 0, 0)
	found, err := x.Find([]Look{{Frame{Image: dark}, []vision.ROI{roi, roi}}, {Frame{Image: m}, []vision.ROI{{CX: 9, CY: 9, Size: 20}, roi}}, {Frame{Image: dark}, []vision.ROI{roi}}})
	r.must(err)
	for i := range sights {
		want := i == 1
		saw := want && !fused // an infinite sum takes any fused product and never becomes none
		if errors.Is(sights[i].Err, vision.ErrNonFinite) != saw || errors.Is(found[i].Err, vision.ErrNonFinite) != want || (found[i].Faces == nil) != want {
			t.Errorf("%d: %v, %v", i, sights[i].Err, found[i].Err)
		}
	}
}

// An error of the driver is everybody's, until the driver is well again.
func TestDriverFails(t *testing.T) {
	r := newRig(t)
	defer fault.Plan("")
	m, truth := r.drawn(vision.BGR, 320, 240, 1)
	x, l := r.newDetector(vision.DetectorOptions{}, Options{MaxBatch: 1}), r.newLandmarker(vision.LandmarkerOptions{}, Options{MaxBatch: 1})
	r.must(x.Capture(1), l.Capture(1))
	frames := []Frame{{Image: m}}
	looks := []Look{{frames[0], []vision.ROI{region(truth[0], 0, 0)}}}
	_, err := x.Detect(frames)
	r.must(err)
	for _, call := range []string{"cuGraphLaunch", "cuStreamSynchronize"} {
		fault.Plan(call + "=700")
		if _, err := x.Detect(frames); !errors.Is(err, cuda.IllegalAddress) {
			t.Errorf("%s: detect: %v", call, err)
		}
		if _, err := l.Find(looks); !errors.Is(err, cuda.IllegalAddress) {
			t.Errorf("%s: find: %v", call, err)
		}
	}
	fault.Plan("cuMemcpyHtoDAsync=2")
	if sights, err := x.Detect(frames); err != nil || !errors.Is(sights[0].Err, cuda.OutOfMemory) {
		t.Errorf("upload: %+v, %v", sights, err)
	}
	fault.Plan("")
	sights, err := x.Detect(frames)
	if r.must(err); len(sights[0].Faces) != 1 {
		t.Errorf("afterwards: %+v", sights)
	}
}
