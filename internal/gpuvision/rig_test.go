package gpuvision

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/reference"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/models"
	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/vision"
)

// TestMain makes the imitated GPU small, so that it can be filled.
func TestMain(m *testing.M) {
	_ = os.Setenv("FAKE_CUDA_MEMORY", strconv.Itoa(512<<20))
	os.Exit(m.Run())
}

// rig is a device and the drawn faces' networks; without the tag cuda the test is skipped.
type rig struct {
	testing.TB
	device         *Device
	detector       *infer.Graph
	points, shapes *infer.Graph
	stream         *cuda.Stream
	pinned         *cuda.Pinned
	memory         *cuda.Memory
	taken          uint64
}

const rigBytes = 16 << 20

func newRig(t testing.TB) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn", "internal/kernels/image", "internal/kernels/faces")
	ctx := cudatest.Use(t)
	r := &rig{TB: t}
	var errs [4]error
	r.device, errs[0] = OpenDevice("0")
	r.stream, errs[1] = ctx.NewStream()
	r.pinned, errs[2] = ctx.AllocPinned(rigBytes)
	r.memory, errs[3] = ctx.Alloc(rigBytes)
	r.must(errs[:]...)
	t.Cleanup(func() {
		if err := errors.Join(r.stream.Synchronize(), r.stream.Close(), r.pinned.Close(), r.memory.Close(), r.device.Close()); err != nil {
			t.Error(err)
		}
	})
	r.synthetic()
	return r
}

// synthetic loads the drawn faces' networks.
func (r *rig) synthetic() {
	r.Helper()
	files, err := testmodels.Write(r.TempDir())
	r.must(err)
	store, err := models.NewStore()
	r.must(err)
	_, r.detector, err = store.DetectorGraph(files.Detector, true)
	r.must(err)
	graphs, err := store.LandmarkGraphs(files.Landmarks, true)
	r.must(err)
	r.points, r.shapes = graphs.Points, graphs.Blendshapes
}

func (r *rig) must(errs ...error) {
	r.Helper()
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
}

// newDetector and newLandmarker are closed at the end of the test.
func (r *rig) newDetector(v vision.DetectorOptions, o Options) *Detector {
	r.Helper()
	x, err := NewDetector(r.device, "yunet", r.detector, v, o)
	r.must(err)
	r.Cleanup(func() { r.must(x.Close()) })
	return x
}

func (r *rig) newLandmarker(v vision.LandmarkerOptions, o Options) *Landmarker {
	r.Helper()
	x, err := NewLandmarker(r.device, r.points, r.shapes, v, o)
	r.must(err)
	r.Cleanup(func() { r.must(x.Close()) })
	return x
}

// reference opens a graph in plain Go.
func (r *rig) reference(g *infer.Graph) infer.Session {
	r.Helper()
	s, err := infer.Open(g, infer.Options{Backend: "reference"})
	r.must(err)
	r.Cleanup(func() { r.must(s.Close()) })
	return s
}

func (r *rig) visionDetector(v vision.DetectorOptions) *vision.Detector {
	r.Helper()
	d, err := vision.NewDetector("yunet", r.reference(r.detector), v)
	r.must(err)
	return d
}

func (r *rig) visionLandmarker(v vision.LandmarkerOptions) *vision.Landmarker {
	r.Helper()
	var shapes infer.Session
	if r.shapes != nil {
		shapes = r.reference(r.shapes)
	}
	l, err := vision.NewLandmarker(r.reference(r.points), shapes, v)
	r.must(err)
	return l
}

// onDevice is a frame whose pixels are on the device once a stream has waited for them.
func (r *rig) onDevice(m vision.Image, waits *int) Frame {
	r.Helper()
	at := r.taken
	if r.taken += aligned(uint64(len(m.Pix))); r.taken > rigBytes {
		r.Fatalf("a test needs more than %d bytes", rigBytes)
	}
	host := r.pinned.Bytes()[at : at+uint64(len(m.Pix))]
	copy(host, m.Pix)
	f := Frame{Image: m, Device: r.memory.Address() + at}
	f.Image.Pix = nil
	f.Wait = func(s *cuda.Stream) error {
		*waits++
		return s.Upload(f.Device, host)
	}
	return f
}

// drawn is a frame with drawn faces, and where the first is.
func (r *rig) drawn(format vision.Format, w, h, faces int) (vision.Image, []source.FaceTruth) {
	r.Helper()
	p, err := source.ParseSynthetic(fmt.Sprintf("synthetic:faces=%d,size=%dx%d,format=%s", faces, w, h, format))
	r.must(err)
	s := source.NewSynthetic(p)
	m := vision.Image{Format: format, Width: w, Height: h, Pix: make([]byte, s.Info().FrameBytes())}
	r.must(s.Skip(1), s.Retrieve(m.Pix), s.Close())
	return m, source.SyntheticTruth(p, 0)
}

// off is how far apart points are, px.
func off(got, want [][3]float64) (worst float64) {
	for i, p := range want {
		for c := range p {
			worst = math.Max(worst, math.Abs(got[i][c]-p[c]))
		}
	}
	return worst
}
