package gpu

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"facetrack/infer"
	_ "facetrack/infer/reference"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/kernels/nn"
)

// TestMain makes the imitated GPU small, so that it can be filled.
func TestMain(m *testing.M) {
	_ = os.Setenv("FAKE_CUDA_MEMORY", strconv.Itoa(256<<20))
	os.Exit(m.Run())
}

// bench is a device with the kernels; without the tag cuda the test is skipped.
type bench struct {
	*testing.T
	ctx *cuda.Context
	set *nn.Set
}

func newBench(t *testing.T) *bench {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn")
	b := &bench{T: t, ctx: cudatest.Use(t)}
	var err error
	b.set, err = nn.Load(b.ctx)
	b.must(err)
	t.Cleanup(func() { b.must(b.set.Close()) })
	return b
}

// on is the same device in a subtest.
func (b *bench) on(t *testing.T) *bench { return &bench{t, b.ctx, b.set} }

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) network(g *infer.Graph, o Options) *Network {
	b.Helper()
	n, err := NewNetwork(b.ctx, b.set, g, o)
	b.must(err)
	b.Cleanup(func() { b.must(n.Close()) })
	return n
}

func (b *bench) exec(n *Network, maxBatch int) *Exec {
	b.Helper()
	e, err := n.NewExec(maxBatch)
	b.must(err)
	b.Cleanup(func() { b.must(e.Close()) })
	return e
}

// numbers makes inputs for a batch, uniform in a range.
func numbers(infos []infer.Info, batch int, seed uint64, low, high float32) []infer.Buffer {
	r := rand.New(rand.NewPCG(seed, 1))
	buffers := blank(infos, batch)
	for _, b := range buffers {
		for i := range b.Host {
			b.Host[i] = low + (high-low)*r.Float32()
		}
	}
	return buffers
}

func blank(infos []infer.Info, batch int) []infer.Buffer {
	buffers := make([]infer.Buffer, len(infos))
	for i, info := range infos {
		buffers[i].Host = make([]float32, batch*info.Len())
	}
	return buffers
}

// expected is what plain Go computes.
func expected(t testing.TB, g *infer.Graph, batch int, in []infer.Buffer) []infer.Buffer {
	t.Helper()
	s, err := infer.Open(g, infer.Options{Backend: "reference", MaxBatch: batch})
	if err != nil {
		t.Fatal(err)
	}
	out := blank(s.Outputs(), batch)
	if err := s.Run(batch, in, out); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// compare allows for a part of the largest number of each output.
func compare(t testing.TB, got, want []infer.Buffer, tolerance float64) {
	t.Helper()
	for i := range want {
		largest, worst := 0.0, 0.0
		for k, w := range want[i].Host {
			largest = math.Max(largest, math.Abs(float64(w)))
			if d := math.Abs(float64(got[i].Host[k] - w)); !(d <= worst) {
				worst = d
			}
		}
		if !(worst <= tolerance*math.Max(largest, 1)) {
			t.Errorf("output %d is off by %.2g; numbers go up to %g", i, worst, largest)
		}
	}
}

func (b *bench) check(g *infer.Graph, e *Exec, batch int, in []infer.Buffer, tolerance float64) {
	b.Helper()
	out := blank(e.net.Outputs(), batch)
	b.must(e.Run(batch, in, out))
	compare(b, out, expected(b, g, batch, in), tolerance)
}
