package gpu

import (
	"errors"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
)

func (b *bench) session(g *infer.Graph, o infer.Options) infer.Session {
	b.Helper()
	o.Backend = Name
	s, err := infer.Open(g, o)
	b.must(err)
	b.Cleanup(func() { b.must(s.Close()) })
	return s
}

func TestSession(t *testing.T) {
	b := newBench(t)
	g := few()
	for precision, tolerance := range map[string]float64{"": rough, infer.FP32: exact} {
		s := b.session(g, infer.Options{Precision: precision, MaxBatch: 3, GPU: "0"})
		in, out := numbers(s.Inputs(), 3, 1, -1, 1), blank(s.Outputs(), 3)
		b.must(s.Run(3, in, out))
		compare(t, out, expected(t, g, 3, in), tolerance)
		b.must(s.Close())
		if err := s.Run(3, in, out); !errors.Is(err, infer.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A session takes the batches that it was opened for, whatever the memory.
func TestSessionSplitsBatches(t *testing.T) {
	b := newBench(t)
	g := few()
	s := b.session(g, infer.Options{Precision: infer.FP32, MaxBatch: 7}).(*session)
	s.exec.maxBatch = 3
	in, out := numbers(s.Inputs(), 7, 1, -1, 1), blank(s.Outputs(), 7)
	b.must(s.Run(7, in, out))
	compare(t, out, expected(t, g, 7, in), exact)
}

// Where there is no GPU for it, the backend says so, and "auto" takes another.
func TestNoGPU(t *testing.T) {
	b := newBench(t)
	defer fault.Plan("")
	for name, c := range map[string]struct {
		gpu, faults, text string
		is                error
	}{
		"off":        {gpu: "off", text: "switched off"},
		"no such":    {gpu: "17", is: cuda.ErrNoSuchDevice},
		"no kernels": {faults: "cuModuleLoadData=209", text: "kernels for"},
		"no launch":  {faults: "cuLaunchKernel=801", text: "trial run"},
		"no memory":  {faults: "cuMemAlloc=2", is: cuda.OutOfMemory},
	} {
		fault.Plan(c.faults)
		_, err := infer.Open(few(), infer.Options{Backend: Name, GPU: c.gpu})
		if !errors.Is(err, infer.ErrUnavailable) || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
		s, err := infer.Open(few(), infer.Options{GPU: c.gpu})
		b.must(err)
		if s.Backend() == Name {
			t.Errorf("%s: auto took %s", name, s.Backend())
		}
		b.must(s.Close())
	}
	fault.Plan("")
	if len(devices.open) != 0 {
		t.Error("a device is left open")
	}
}
