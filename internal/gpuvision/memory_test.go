package gpuvision

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/fault"
	"facetrack/vision"
)

func nothing(*cuda.Stream, int) error { return nil }

// What does not fit is halved until it does.
func TestLittleMemory(t *testing.T) {
	r := newRig(t)
	defer fault.Plan("")
	each := r.free() / 10
	log, said := listen()
	s := sizes{item: 8, record: 16, between: func(n int) int64 { return int64(n) * each }}
	p, err := newPass(r.device.Context(), s, 64, nothing, log)
	r.must(err)
	if !strings.Contains(said.String(), "level=WARN") || !strings.Contains(said.String(), "wanted=64 used=8") {
		t.Errorf("said: %s", said)
	}
	if p.most != 8 || len(p.up) != 8*8 || len(p.down) != 8*16 {
		t.Errorf("a batch of %d, %d and %d bytes", p.most, len(p.up), len(p.down))
	}
	r.must(p.close())
	fault.Plan("cuMemAlloc=2")
	if _, err := newPass(r.device.Context(), sizes{item: 8, record: 16, between: func(int) int64 { return 1 }}, 64, nothing, nil); !errors.Is(err, cuda.OutOfMemory) {
		t.Errorf("no memory: %v", err)
	}
	fault.Plan("")
	if err := new(pass).close(); err != nil {
		t.Error(err)
	}
}

// Page-locked memory is halved as well, and the device memory that was taken goes back.
func TestLittlePageLockedMemory(t *testing.T) {
	r := newRig(t)
	before := r.free()
	for most, want := range map[int]int{64: 64, 40: 32, 2: 2, 1: 1} {
		log, said := listen()
		p := &pass{sizes: sizes{item: 8, record: 16, between: func(n int) int64 { return int64(n) << 20 }}, most: 64}
		r.must(p.fit(&little{Context: r.device.Context(), most: 1 << 30, pinned: 24 * most}, log))
		if p.most != want || len(p.up) != 8*want || len(p.down) != 16*want {
			t.Errorf("for %d: a batch of %d, %d and %d bytes", most, p.most, len(p.up), len(p.down))
		}
		if told := strings.Contains(said.String(), fmt.Sprintf("wanted=64 used=%d", want)); told != (want < 64) {
			t.Errorf("for %d, said: %s", most, said)
		}
		if used := before - r.free(); used != p.memory.Bytes() {
			t.Errorf("for %d: %d bytes in use, want %d", most, used, p.memory.Bytes())
		}
		r.must(p.close())
	}
	p := &pass{sizes: sizes{item: 8, record: 16, between: func(int) int64 { return 1 }}, most: 64}
	if err := p.fit(&little{Context: r.device.Context(), most: 1 << 30}, nil); !errors.Is(err, cuda.OutOfMemory) || !strings.Contains(err.Error(), "page-locked") {
		t.Errorf("no page-locked memory: %v", err)
	}
	if r.must(p.close()); r.free() != before {
		t.Errorf("%d bytes are not given back", before-r.free())
	}
}

// Memory for a frame of the host that is missing is the error of that frame.
func TestNoMemoryForFrames(t *testing.T) {
	r := newRig(t)
	defer fault.Plan("")
	m, truth := r.drawn(vision.BGR, 1280, 960, 1) // more than there is room for since the trial run
	waits := 0
	log, said := listen()
	x := r.newLandmarker(vision.LandmarkerOptions{NoAppearance: true}, Options{MaxBatch: 2, Log: log})
	roi := []vision.ROI{region(truth[0], 0, 0)}
	fault.Plan("cuMemAlloc=2")
	found, err := x.Find([]Look{{Frame{Image: m}, roi}, {r.onDevice(m, &waits), roi}})
	r.must(err, found[1].Err)
	if !errors.Is(found[0].Err, cuda.OutOfMemory) || !strings.Contains(found[0].Err.Error(), "host") {
		t.Errorf("no memory: %v", found[0].Err)
	}
	if !strings.Contains(said.String(), "level=WARN") || x.Parted() != 0 {
		t.Errorf("%d batches in parts, said: %s", x.Parted(), said)
	}
	if f := found[1].Faces[0]; f.Presence < 0.5 || f.Appearance != nil || len(f.Blendshapes) != len(vision.BlendshapeNames) {
		t.Errorf("beside it: %+v", f)
	}
	fault.Plan("")
	x.intake.room.again = time.Time{} // shortage has passed
	found, err = x.Find([]Look{{Frame{Image: m}, roi}})
	r.must(err, found[0].Err)
}

// The tables of very many geometries are forgotten, between two runs.
func TestTables(t *testing.T) {
	r := newRig(t)
	before := r.free()
	tab := tables{ctx: r.device.Context(), size: 320, plans: map[geometry]fitting{}}
	seen := map[uint64]bool{}
	for side := 8000; len(tab.blocks) <= mostBlocks; side++ {
		r.must(tab.thin())
		m := vision.Image{Format: vision.BGR, Width: side, Height: side}
		f, err := tab.of(r.stream, m)
		r.must(err)
		if again, err := tab.of(r.stream, m); err != nil || again != f || seen[f.table] {
			t.Fatalf("a side of %d: %v, table at %#x", side, err, f.table)
		}
		seen[f.table] = true
	}
	r.must(tab.thin())
	if len(tab.plans) != 0 || r.free() != before {
		t.Errorf("%d plans, %d bytes in use", len(tab.plans), before-r.free())
	}
	if _, err := tab.of(r.stream, vision.Image{Format: vision.BGR, Width: 1 << 20, Height: 1}); !errors.Is(err, vision.ErrImage) {
		t.Errorf("a huge frame: %v", err)
	}
	small, err := tab.of(r.stream, vision.Image{Format: vision.BGR, Width: 30, Height: 20})
	if r.must(err); small.table != 0 {
		t.Error("a table for a frame that is enlarged")
	}
	r.must(tab.close())
}

// A device is opened once, and closed with its last user.
func TestDevice(t *testing.T) {
	r := newRig(t)
	d, err := OpenDevice("auto")
	r.must(err)
	if d.kernels != r.device.kernels || d.Info().Ordinal != 0 || d.Context() != r.device.Context() {
		t.Error("opened twice")
	}
	r.must(d.Close(), d.Close())
	r.must(second(r.device.Context().NewStream()))
	if _, err := OpenDevice("off"); err == nil {
		t.Error("a GPU that is switched off")
	}
	if _, err := OpenDevice("17"); !errors.Is(err, cuda.ErrNoSuchDevice) {
		t.Errorf("no such device: %v", err)
	}
	r.must(r.device.Close())
	if _, err := NewDetector(d, "yunet", r.detector, vision.DetectorOptions{}, Options{}); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("a detector on a closed device: %v", err)
	}
	if _, err := NewLandmarker(d, r.points, nil, vision.LandmarkerOptions{}, Options{}); !errors.Is(err, cuda.ErrClosed) {
		t.Errorf("a landmarker on a closed device: %v", err)
	}
	defer fault.Plan("")
	for spared := 0; ; spared++ {
		fault.Plan(fmt.Sprintf("cuModuleLoadData=218@%d", spared))
		d, err := OpenDevice("0")
		if err == nil {
			r.must(d.Close())
			break
		}
		if !strings.Contains(err.Error(), "kernels for") || len(devices.open) != 0 {
			t.Errorf("kernels do not load: %v; open are %v", err, devices.open)
		}
	}
	if len(devices.open) != 0 {
		t.Error("a device is left open")
	}
}
