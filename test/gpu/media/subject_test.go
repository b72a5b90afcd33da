//go:build cuda

package media

import (
	"errors"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/gpuvision"
	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

// subject is package gpuvision under test, in one precision.
type subject struct {
	t         *testing.T
	device    *gpuvision.Device
	detectors []*gpuvision.Detector
	faces     *gpuvision.Landmarker
	stream    *cuda.Stream
}

// openDevice opens the GPU, or the imitated one.
func openDevice(t *testing.T) *gpuvision.Device {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	cudatest.Use(t)
	d, err := gpuvision.OpenDevice("auto")
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, d)
	return d
}

func closeLater(t *testing.T, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func newSubject(t *testing.T, d *gpuvision.Device, n nets, precision string) *subject {
	t.Helper()
	s := &subject{t: t, device: d}
	o := gpuvision.Options{Precision: precision, MaxBatch: batch}
	for _, net := range n.detectors { // in the precision that is theirs unless another is named
		made, err := gpuvision.NewDetector(d, net.kind, net.graph, vision.DetectorOptions{}, gpuvision.Options{MaxBatch: batch})
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, made)
		s.detectors = append(s.detectors, made)
	}
	var errs [2]error
	s.faces, errs[0] = gpuvision.NewLandmarker(d, n.landmarks.Points, n.landmarks.Blendshapes, vision.LandmarkerOptions{}, o)
	s.stream, errs[1] = d.Context().NewStream()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	closeLater(t, s.faces)
	closeLater(t, s.stream)
	return s
}

// frames puts every second image into device memory, as a camera's ring has it.
func (s *subject) frames(images []vision.Image) []gpuvision.Frame {
	s.t.Helper()
	list := make([]gpuvision.Frame, len(images))
	for i, m := range images {
		if list[i].Image = m; i%2 == 0 {
			continue
		}
		memory, err := s.device.Context().Alloc(int64(len(m.Pix)))
		if err != nil {
			s.t.Fatal(err)
		}
		closeLater(s.t, memory)
		if err := errors.Join(s.stream.Upload(memory.Address(), m.Pix), s.stream.Synchronize()); err != nil {
			s.t.Fatal(err)
		}
		list[i].Image.Pix, list[i].Device = nil, memory.Address()
	}
	return list
}

// look returns what each detector sees in each frame.
func (s *subject) look(frames []gpuvision.Frame) (sights [][][]vision.Face) {
	s.t.Helper()
	for _, d := range s.detectors {
		seen, err := d.Detect(frames)
		if err != nil {
			s.t.Fatal(err)
		}
		var faces [][]vision.Face
		for i := range seen {
			if seen[i].Err != nil {
				s.t.Fatalf("frame %d: %v", i, seen[i].Err)
			}
			faces = append(faces, seen[i].Faces)
		}
		sights = append(sights, faces)
	}
	return sights
}

func (s *subject) find(frames []gpuvision.Frame, want []expected) [][]faces.Result {
	s.t.Helper()
	looks := make([]gpuvision.Look, len(frames))
	for i := range frames {
		looks[i] = gpuvision.Look{Frame: frames[i], ROIs: want[i].rois}
	}
	found, err := s.faces.Find(looks)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make([][]faces.Result, len(found))
	for i := range found {
		if list[i] = found[i].Faces; found[i].Err != nil || len(list[i]) != len(want[i].rois) {
			s.t.Fatalf("frame %d: %d results for %d regions, %v", i, len(list[i]), len(want[i].rois), found[i].Err)
		}
	}
	return list
}
