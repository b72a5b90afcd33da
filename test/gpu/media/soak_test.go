//go:build cuda

package media

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"facetrack/infer"
	"facetrack/internal/gpuvision"
	"facetrack/internal/nvml"
	"facetrack/vision"
)

// What may be taken more after all the work than when everything had been used once, MiB: what leaks is taken again and again.
const (
	deviceTolerance = 8
	hostTolerance   = 64
	mebibyte        = 1 << 20
)

// TestSoakVision lets several workers share networks, with batches of all sizes, frames of several sizes and from either memory, for
// FACETRACK_SOAK_SECONDS. Results stay what they were, and no memory is lost.
func TestSoakVision(t *testing.T) {
	device := openDevice(t)
	n := drawnNets(t)
	w := newWorkload(t, device, n)
	w.prepare()
	before := w.taken()
	begin := time.Now()
	end := begin.Add(time.Duration(setting(t, "FACETRACK_SOAK_SECONDS", soakSeconds)) * time.Second)
	var wg sync.WaitGroup
	for i := range w.faces {
		wg.Go(func() { w.work(i, func() bool { return time.Now().Before(end) }) })
	}
	wg.Wait()
	took := time.Since(begin)
	after := w.taken()
	if !onGPU {
		after.Device = before.Device // the imitated driver's memory is this machine's
	}
	if after.Device-before.Device > deviceTolerance || after.Host-before.Host > hostTolerance {
		t.Errorf("taken %+v MiB, before %+v", after, before)
	}
	line, err := json.Marshal(map[string]any{
		"test": t.Name(), "gpu": onGPU, "seconds": took.Seconds(), "runs": w.runs.Load(), "faces": w.found.Load(), "before_mib": before, "after_mib": after,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("RESULT %s", line)
}

const soakWorkers = 2

// workload is what the workers share.
type workload struct {
	t         *testing.T
	device    *gpuvision.Device
	detectors []*gpuvision.Detector
	faces     []*gpuvision.Landmarker
	looks     []gpuvision.Look // one face each
	points    [][][3]float64   // of each look
	runs      atomic.Int64
	found     atomic.Int64
}

func newWorkload(t *testing.T, d *gpuvision.Device, n nets) *workload {
	t.Helper()
	w := &workload{t: t, device: d}
	first := newSubject(t, d, n, infer.FP16)
	w.detectors, w.faces = first.detectors[:1:1], []*gpuvision.Landmarker{first.faces}
	for len(w.faces) < soakWorkers {
		detector, err := first.detectors[0].Clone()
		if err != nil {
			t.Fatal(err)
		}
		faces, err := first.faces.Clone()
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, detector)
		closeLater(t, faces)
		w.detectors, w.faces = append(w.detectors, detector), append(w.faces, faces)
	}
	var images []vision.Image
	for _, side := range []int{soakSide, 320} {
		for _, format := range formats {
			images = append(images, readClip(t, fmt.Sprintf("synthetic:faces=1,size=%dx%d,frames=1", side, side*3/4), format, 1).frames...)
		}
	}
	frames := first.frames(images)
	for i := range soakFaces {
		f := frames[i%len(frames)]
		side := float64(f.Image.Height)
		w.looks = append(w.looks, gpuvision.Look{Frame: f, ROIs: []vision.ROI{{CX: side * 0.6, CY: side / 2, Size: side * (0.3 + float64(i)/200), Rotation: float64(i) / 20}}})
	}
	return w
}

// prepare has every batch size captured by every worker, lets each take memory for the largest batch, and notes what is right.
func (w *workload) prepare() {
	w.t.Helper()
	for i := range w.faces {
		for n := 1; n <= min(batch, soakFaces); n++ {
			if err := errors.Join(w.faces[i].Capture(n), w.detectors[i].Capture(n)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	found, err := w.faces[0].Find(w.looks)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range found {
		if found[i].Err != nil {
			w.t.Fatal(found[i].Err)
		}
		w.points = append(w.points, found[i].Faces[0].Points)
	}
	frames := make([]gpuvision.Frame, len(w.looks))
	for i := range w.looks {
		frames[i] = w.looks[i].Frame
	}
	for i := range w.faces {
		if err := errors.Join(w.find(i, 0, len(w.looks)), w.detect(i, frames)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// work runs batches of any size until it is told to end.
func (w *workload) work(i int, on func() bool) {
	random := rand.New(rand.NewPCG(uint64(i), 1))
	for on() && !w.t.Failed() {
		n := 1 + random.IntN(soakFaces)
		first := random.IntN(soakFaces - n + 1)
		frames := make([]gpuvision.Frame, n)
		for k := range frames {
			frames[k] = w.looks[first+k].Frame
		}
		if err := errors.Join(w.find(i, first, n), w.detect(i, frames)); err != nil {
			w.t.Error(err)
		}
		w.runs.Add(1)
		w.found.Add(int64(n))
	}
}

func (w *workload) find(i, first, n int) error {
	found, err := w.faces[i].Find(w.looks[first : first+n])
	if err != nil {
		return err
	}
	for k := range found {
		if found[k].Err != nil {
			return found[k].Err
		}
		for p, point := range found[k].Faces[0].Points {
			want := w.points[first+k][p]
			for axis := range point {
				if by := point[axis] - want[axis]; !(by*by <= allowed[infer.FP16].points*allowed[infer.FP16].points) {
					return fmt.Errorf("face %d in a batch of %d: point %d is %v, at first it was %v", first+k, n, p, point, want)
				}
			}
		}
	}
	return nil
}

func (w *workload) detect(i int, frames []gpuvision.Frame) error {
	sights, err := w.detectors[i].Detect(frames)
	for k := range sights {
		err = errors.Join(err, sights[k].Err)
	}
	return err
}

// memory is what this process has taken, MiB.
type memory struct {
	Device float64 `json:"device"` // as NVML tells; where it does not, that of all processes
	Host   float64 `json:"host"`
}

func (w *workload) taken() memory {
	w.t.Helper()
	device, err := ownMemory(w.device.Context().Device().UUID.String())
	if err != nil {
		w.t.Logf("memory of the whole GPU is compared: %v", err)
		var free, total int64
		if free, total, err = w.device.Context().MemInfo(); err != nil {
			w.t.Fatal(err)
		}
		device = total - free
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		w.t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		w.t.Fatal(err)
	}
	return memory{float64(device) / mebibyte, float64(resident*int64(os.Getpagesize())) / mebibyte}
}

// ownMemory is how much of a GPU's memory this process has, whatever others do there.
func ownMemory(gpu string) (int64, error) {
	library, err := nvml.Open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = library.Close() }()
	device, err := library.Device(gpu)
	if err != nil {
		return 0, err
	}
	all, err := device.Processes()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.PID == os.Getpid() && p.Bytes >= 0 {
			return p.Bytes, nil
		}
	}
	return 0, fmt.Errorf("NVML does not tell the memory of process %d", os.Getpid())
}
