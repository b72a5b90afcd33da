//go:build cuda && !gpu

package ipcbench

import (
	"os"
	"strings"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/fault"
)

// withFake puts the imitated driver in place of the real one.
func withFake(t *testing.T) Options {
	t.Helper()
	if err := os.Setenv(cuda.LibraryVariable, cudatest.Library(t)); err != nil {
		t.Fatal(err)
	}
	o := small(t)
	o.GPU = "auto"
	return o
}

func TestWithImitatedGPU(t *testing.T) {
	o := withFake(t)
	r := run(t, o)
	if len(r.Transports) != 14 || r.GPU == nil || r.GPU.Imitated == "" || !strings.HasPrefix(r.GPU.UUID, "GPU-") || r.MPS != "off" || r.Looks != "GPU kernel" {
		t.Fatalf("%d transports on %+v", len(r.Transports), r.GPU)
	}
	for _, l := range r.Transports {
		up := float64(l.FrameBytes)
		if strings.HasPrefix(l.Transport, "cuda-ipc") {
			up += 8 // the ready word
		}
		if l.BytesUp != up || l.BytesDown > 16 {
			t.Errorf("%s %s: %v bytes up and %v down for a frame of %d", l.Transport, l.Format, l.BytesUp, l.BytesDown, l.FrameBytes)
		}
	}
	for name, sync := range map[string]string{Auto: "events", Events: "events", MemOps: "memops"} {
		if l := r.line(name, "BGR"); l == nil || l.Sync != sync || l.AttachMS <= 0 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := r.line(Shm, "NV12"); l == nil || !strings.Contains(l.Note, "is page-locked") {
		t.Errorf("%+v", l)
	}
	if len(r.Uploads) != 6 || r.Uploads[0].Time.P50 <= 0 || r.Uploads[0].Ratio != 1 {
		t.Errorf("uploads: %+v", r.Uploads)
	}
	if len(r.Overlap) != 2 {
		t.Fatalf("overlap: %+v", r.Overlap)
	}
	for _, o := range r.Overlap {
		if o.Overlapped <= 0 || o.RingOne <= 0 || o.Stream <= 0 || o.Frames == 0 || o.Passes < 1 {
			t.Errorf("overlap: %+v", o)
		}
	}
}

// Two readers in place need one upload, two that upload need two.
func TestBytesOfSeveralReaders(t *testing.T) {
	o := withFake(t)
	o.Computed = []int{4}
	r := run(t, o)
	frame := float64(r.Transports[0].FrameBytes)
	want := map[string][2]float64{Auto: {frame + 8, frame + 8}, Shm: {frame, 2 * frame}}
	if len(r.PCIe) != 6 || r.PCIe[5].Measured || r.PCIe[5].Up != 4*frame || r.PCIe[4].Up != frame+8 {
		t.Fatalf("%+v", r.PCIe)
	}
	for _, row := range r.PCIe[:4] {
		if up := want[row.Transport][row.Readers-1]; !row.Measured || row.Up != up {
			t.Errorf("%+v, want %v bytes up", row, up)
		}
		if row.Transport == Auto && row.Readers == 2 && (row.Less < 0.49 || row.Less > 0.5) {
			t.Errorf("two readers in place save %v of the bytes, want nearly half", row.Less)
		}
	}
}

// PyTorch's side runs in the same rotation; one that fails is left out and named.
func TestWithPython(t *testing.T) {
	o := withFake(t)
	p := withTorch(t, "") // for its environment, and to skip
	_ = p.Close()
	o.Python, o.Script, o.Formats = "python3", p.cmd.Args[2], o.Formats[:1]
	r := run(t, o)
	if l := r.line(TorchQueue, "NV12"); len(r.Transports) != 10 || l == nil || r.Torch == "" {
		t.Errorf("%d transports with %q; not run: %+v", len(r.Transports), r.Torch, r.NotRun)
	}
}

// What cannot be made or opened is left out and named; the rest is measured.
func TestWithoutDeviceRing(t *testing.T) {
	o := withFake(t)
	o.Formats = o.Formats[:1]
	t.Cleanup(func() { fault.Plan("") })
	for planned, c := range map[string]struct {
		call, note string
		skipped    int
	}{
		"cuIpcOpenMemHandle=201": {"cuIpcOpenMemHandle", "is page-locked", 4},
		"cuMemHostRegister=801":  {"cuMemHostRegister", "cannot be page-locked", 3},
	} {
		fault.Plan(planned)
		t.Setenv(fault.Variable, planned) // for the second process
		r := run(t, o)
		if len(r.Transports) != 4 || r.line(Auto, "NV12") != nil || len(r.Overlap) > 0 || len(r.PCIe) != 2 || len(r.Targets) > 0 {
			t.Errorf("%s: %d transports, %d overlaps, %d counts of bytes", planned, len(r.Transports), len(r.Overlap), len(r.PCIe))
		}
		if l := r.line(Shm, "NV12"); l == nil || !strings.Contains(l.Note, c.note) {
			t.Errorf("%s: %+v", planned, l)
		}
		if len(r.NotRun) != c.skipped || !strings.Contains(r.NotRun[1].Reason, c.call) {
			t.Errorf("%s: not run: %+v", planned, r.NotRun)
		}
	}
}

func TestWrongFramesAreNoticedOnTheGPU(t *testing.T) {
	wrongFramesAreNoticed(t, withFake(t))
}
