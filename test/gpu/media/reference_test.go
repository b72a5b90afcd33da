//go:build cuda

package media

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/reference" // registers the backend
	"facetrack/vision"
)

// reference is package vision on the backend of plain Go.
type reference struct {
	detectors []*vision.Detector
	all       []*vision.Detector // the same, with every candidate a face
	faces     *vision.Landmarker // tries again where it does not see a face
	once      *vision.Landmarker // looks once
}

func newReference(t *testing.T, n nets) *reference {
	t.Helper()
	r := &reference{}
	open := func(g *infer.Graph) infer.Session {
		s, err := infer.Open(g, infer.Options{Backend: "reference"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	for _, d := range n.detectors {
		session := open(d.graph)
		made, err := vision.NewDetector(d.kind, session, vision.DetectorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := vision.NewDetector(d.kind, session, vision.DetectorOptions{NMSThreshold: 1, MaxFaces: 1024})
		if err != nil {
			t.Fatal(err)
		}
		r.detectors, r.all = append(r.detectors, made), append(r.all, all)
	}
	points, shapes := open(n.landmarks.Points), open(n.landmarks.Blendshapes)
	var errs [2]error
	r.faces, errs[0] = vision.NewLandmarker(points, shapes, vision.LandmarkerOptions{})
	r.once, errs[1] = vision.NewLandmarker(points, shapes, vision.LandmarkerOptions{Retries: -1})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return r
}

// expected is what package vision says about a frame.
type expected struct {
	sights [][]vision.Face // of each detector
	rois   []vision.ROI    // of the first detector's faces
	faces  []vision.FaceResult
}

func (r *reference) look(m vision.Image) (e expected, err error) {
	for _, d := range r.detectors {
		found, err := d.Detect(m)
		if err != nil {
			return e, err
		}
		e.sights = append(e.sights, found)
	}
	for _, f := range e.sights[0] {
		e.rois = append(e.rois, vision.ROIFromFace(f))
	}
	e.faces, err = r.faces.Run(m, e.rois)
	return e, err
}

// references work side by side, one on each core.
type references chan *reference

func newReferences(t *testing.T, n nets) references {
	t.Helper()
	all := make(references, runtime.GOMAXPROCS(0))
	for range cap(all) {
		all <- newReference(t, n)
	}
	return all
}

// each does something for n items, as many at a time as there are cores.
func (all references) each(t *testing.T, n int, do func(r *reference, i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		r := <-all
		wg.Go(func() {
			errs[i] = do(r, i)
			all <- r
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
