package gpuvision

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
	"facetrack/vision"
)

func (r *rig) free() int64 {
	r.Helper()
	free, _, err := r.device.Context().MemInfo()
	r.must(err)
	return free
}

// returns checks that a life gives all memory back. A driver keeps for itself what it needed once.
func (r *rig) returns(life func()) {
	r.Helper()
	life()
	before := r.free()
	for range 2 {
		life()
	}
	if after := r.free(); after != before {
		r.Errorf("%d bytes are not given back", before-after)
	}
}

// Clones work at the same time; the order in which all of them and the device are closed does not matter, and all memory comes back.
func TestClones(t *testing.T) {
	r := newRig(t)
	m, truth := r.drawn(vision.NV12, 320, 240, 1)
	looks := []Look{{Frame{Image: m}, []vision.ROI{region(truth[0], 0, 0), region(truth[0], 0.1, 0)}}}
	want := r.expected([]view{{m, looks[0].ROIs}}, vision.LandmarkerOptions{})
	r.returns(func() {
		device, err := OpenDevice("0")
		r.must(err)
		first, err := NewLandmarker(device, r.points, r.shapes, vision.LandmarkerOptions{}, Options{Precision: infer.FP32, MaxBatch: 2})
		r.must(err, device.Close(), device.Close())
		second, err := first.Clone()
		r.must(err)
		var all sync.WaitGroup
		for _, x := range []*Landmarker{first, second} {
			all.Go(func() {
				for range 3 {
					found, err := x.Find(looks)
					if err != nil {
						t.Error(err)
						return
					}
					r.compareAll(found, want, bounds[infer.FP32])
				}
			})
		}
		all.Wait()
		r.must(first.Close(), first.Close())
		third, err := second.Clone()
		r.must(err, second.Close())
		found, err := third.Find(looks)
		r.must(err)
		r.compareAll(found, want, bounds[infer.FP32])
		r.must(third.Close())
		if _, err := first.Clone(); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("a clone of a closed one: %v", err)
		}
		if err := errors.Join(third.Capture(1), first.Capture(1)); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("a capture after Close: %v", err)
		}
		if _, err := first.Find(looks); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestDetectorClones(t *testing.T) {
	r := newRig(t)
	m, _ := r.drawn(vision.NV12, 320, 240, 1)
	r.returns(func() {
		first, err := NewDetector(r.device, "yunet", r.detector, vision.DetectorOptions{}, Options{MaxBatch: 1})
		r.must(err)
		second, err := first.Clone()
		r.must(err, first.Close(), first.Close())
		sights, err := second.Detect([]Frame{{Image: m}})
		if r.must(err, sights[0].Err, second.Close()); len(sights[0].Faces) != 1 {
			t.Errorf("%d faces", len(sights[0].Faces))
		}
		if _, err := second.Detect(nil); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if _, err := second.Clone(); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("a clone after Close: %v", err)
		}
		if err := second.Capture(1); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("a capture after Close: %v", err)
		}
	})
}

// However often it runs, the memory stays what it was after the first runs.
func TestMemoryStaysFlat(t *testing.T) {
	r := newRig(t)
	large, truth := r.drawn(vision.BGR, 640, 480, 2)
	small, _ := r.drawn(vision.NV12, 320, 240, 1)
	x := r.newLandmarker(vision.LandmarkerOptions{Retries: -1}, Options{MaxBatch: 3})
	roi := region(truth[0], 0, 0)
	round := func(n int) {
		looks := []Look{{Frame{Image: large}, []vision.ROI{roi, roi}}, {Frame{Image: small}, []vision.ROI{roi}}}
		_, err := x.Find(looks[:1+n%2])
		r.must(err)
	}
	round(0)
	round(1)
	r.must(x.Capture(1), x.Capture(2), x.Capture(3))
	before := r.free()
	for n := range 8 {
		round(n)
	}
	if after := r.free(); after != before {
		t.Errorf("%d bytes more are in use", before-after)
	}
}

// What fails while something is opened leaves nothing behind, and says what it was.
func TestOpeningFails(t *testing.T) {
	r := newRig(t)
	defer fault.Plan("")
	quiet := Options{MaxBatch: 2, Log: slog.New(slog.DiscardHandler)}
	r.must(r.newLandmarker(vision.LandmarkerOptions{}, quiet).Close()) // a driver keeps for itself what it needed once
	before := r.free()
	for _, call := range []string{"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuLaunchKernel", "cuMemcpyHtoDAsync", "cuStreamSynchronize"} {
		failures := 0
		for spared := 0; ; spared += 1 + spared/2 {
			fault.Plan(fmt.Sprintf("%s=2@%d", call, spared))
			x, err := NewLandmarker(r.device, r.points, r.shapes, vision.LandmarkerOptions{}, quiet)
			fault.Plan("")
			if err == nil {
				r.must(x.Close())
				break
			}
			if failures++; !errors.Is(err, cuda.OutOfMemory) {
				t.Errorf("%s after %d: %v", call, spared, err)
			}
		}
		if failures == 0 {
			t.Errorf("%s never failed", call)
		}
	}
	if after := r.free(); after != before {
		t.Errorf("%d bytes are not given back", before-after)
	}
	fault.Plan("cuLaunchKernel=801")
	if _, err := NewDetector(r.device, "yunet", r.detector, vision.DetectorOptions{}, quiet); !errors.Is(err, cuda.NotSupported) || !strings.Contains(err.Error(), "trial run") {
		t.Errorf("no kernel runs: %v", err)
	}
}

// Graphs that do not fit are refused as in package vision, before anything is on the device.
func TestWrongGraphs(t *testing.T) {
	r := newRig(t)
	for name, err := range map[string]error{
		"a detector of another kind": second(NewDetector(r.device, "blazeface", r.detector, vision.DetectorOptions{}, Options{})),
		"no such kind":               second(NewDetector(r.device, "eyes", r.detector, vision.DetectorOptions{}, Options{})),
		"a detector for landmarks":   second(NewLandmarker(r.device, r.detector, r.shapes, vision.LandmarkerOptions{}, Options{})),
		"landmarks for blendshapes":  second(NewLandmarker(r.device, r.points, r.points, vision.LandmarkerOptions{}, Options{})),
	} {
		if !errors.Is(err, vision.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewLandmarker(r.device, r.points, nil, vision.LandmarkerOptions{}, Options{Precision: "fp8"}); !errors.Is(err, infer.ErrBadInput) {
		t.Errorf("an unknown precision: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
