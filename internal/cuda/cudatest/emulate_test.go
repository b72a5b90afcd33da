//go:build cuda && !gpu

package cudatest

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"facetrack/internal/cuda"
)

// emulated kernels are asked for by name: the PTX need only name them.
const words = ".version 7.8\n.target sm_75\n.visible .entry turn(\n.visible .entry reduce(\n.visible .entry multiply(\n" +
	".visible .entry unfused(\n.visible .entry count(\n.visible .entry stuck(\n.visible .entry unknown(\n"

type emulation struct {
	*testing.T
	ctx    *cuda.Context
	module *cuda.Module
	stream *cuda.Stream
	memory *cuda.Memory
	host   *cuda.Pinned
}

func newEmulation(t *testing.T) *emulation {
	t.Helper()
	Emulate(t, "internal/cuda/cudatest/testkernels")
	e := &emulation{T: t, ctx: Use(t)}
	var errs [4]error
	e.module, errs[0] = e.ctx.LoadModule([]byte(words))
	e.stream, errs[1] = e.ctx.NewStream()
	e.memory, errs[2] = e.ctx.Alloc(64 << 10)
	e.host, errs[3] = e.ctx.AllocPinned(64 << 10)
	e.must(errors.Join(errs[:]...))
	t.Cleanup(func() { _ = errors.Join(e.host.Close(), e.memory.Close(), e.stream.Close(), e.module.Close()) })
	return e
}

func (e *emulation) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// run uploads what is in the host's memory, runs a kernel and downloads everything.
func (e *emulation) run(name string, grid, block cuda.Dim, shared int, args ...any) error {
	e.Helper()
	f, err := e.module.Function(name)
	e.must(err)
	return errors.Join(e.stream.Upload(e.memory.Address(), e.host.Bytes()), e.stream.Launch(f, grid, block, shared, args...),
		e.stream.Download(e.host.Bytes(), e.memory.Address()), e.stream.Synchronize())
}

func (e *emulation) at(offset int) uint64 { return e.memory.Address() + uint64(offset) }

func (e *emulation) word(i int) uint32 { return binary.LittleEndian.Uint32(e.host.Bytes()[4*i:]) }

func (e *emulation) set(i int, v uint32) { binary.LittleEndian.PutUint32(e.host.Bytes()[4*i:], v) }

func TestEmulatedBarrier(t *testing.T) {
	e := newEmulation(t)
	const blocks, n = 3, 96
	for i := range blocks * n {
		e.set(i, uint32(i))
	}
	e.must(e.run("turn", cuda.Dim{X: blocks}, cuda.Dim{X: n / 2, Y: 2}, 0, e.at(0), e.at(8192), uint32(n)))
	for i := range blocks * n {
		if got, want := e.word(2048+i), uint32(i/n*n+n-1-i%n); got != want {
			t.Fatalf("value %d is %d, want %d", i, got, want)
		}
	}
}

func TestEmulatedWarp(t *testing.T) {
	e := newEmulation(t)
	for i := range 32 {
		e.set(i, math.Float32bits(float32(i)))
	}
	e.must(e.run("reduce", cuda.Dim{X: 1}, cuda.Dim{X: 32}, 0, e.at(0), e.at(4096), float32(29.5)))
	if sum, above := math.Float32frombits(e.word(1024)), e.word(1025); sum != 496 || above != 3<<30 {
		t.Errorf("sum %v, above %#x", sum, above)
	}
}

// halves of small whole numbers are exact: their bits by hand.
func half(v int) uint16 {
	if v == 0 {
		return 0
	}
	sign := uint16(0)
	if v < 0 {
		sign, v = 1<<15, -v
	}
	exponent := int(math.Log2(float64(v)))
	return sign | uint16(15+exponent)<<10 | uint16(v<<(10-exponent))&0x3ff
}

func TestEmulatedTensorCore(t *testing.T) {
	e := newEmulation(t)
	a := func(i, k int) int { return (i*3+k*5)%11 - 5 }
	b := func(k, j int) int { return (k*7+j*2)%9 - 4 }
	for i := range 16 * 8 {
		binary.LittleEndian.PutUint16(e.host.Bytes()[2*i:], half(a(i/8, i%8)))
	}
	for i := range 8 * 8 {
		binary.LittleEndian.PutUint16(e.host.Bytes()[1024+2*i:], half(b(i%8, i/8)))
	}
	e.must(e.run("multiply", cuda.Dim{X: 1}, cuda.Dim{X: 32}, 256, e.at(0), e.at(1024), e.at(2048)))
	for i := range 16 {
		for j := range 8 {
			want := 0
			for k := range 8 {
				want += a(i, k) * b(k, j)
			}
			if got := math.Float32frombits(e.word(512 + 8*i + j)); got != float32(want) {
				t.Errorf("row %d, column %d: %v, want %d", i, j, got, want)
			}
		}
	}
}

func TestEmulatedSumsAreNotFused(t *testing.T) {
	e := newEmulation(t)
	x := 1 + math.Ldexp(1, -40) // its square, rounded, lacks 2^-80
	for i, v := range []float64{x, -1 - math.Ldexp(1, -39)} {
		binary.LittleEndian.PutUint64(e.host.Bytes()[64+8*i:], math.Float64bits(v))
	}
	for i := range 16 {
		e.host.Bytes()[i] = 1
	}
	e.must(e.run("unfused", cuda.Dim{X: 1}, cuda.Dim{X: 1}, 0, e.at(0), float32(1+math.Ldexp(1, -20)), float32(-1-math.Ldexp(1, -19)), e.at(64), e.at(72)))
	if e.word(0) != 0 || e.word(2) != 0 || e.word(3) != 0 {
		t.Errorf("%#x, %#x %#x", e.word(0), e.word(2), e.word(3))
	}
}

func TestEmulatedGraph(t *testing.T) {
	e := newEmulation(t)
	f, err := e.module.Function("count")
	e.must(err)
	e.must(errors.Join(e.stream.BeginCapture(), e.stream.Launch(f, cuda.Dim{X: 2, Y: 3, Z: 5}, cuda.Dim{X: 7}, 0, e.at(0))))
	graph, err := e.stream.EndCapture()
	e.must(err)
	e.must(errors.Join(e.stream.Fill(e.at(0), 0, 4), graph.Launch(e.stream), graph.Launch(e.stream),
		e.stream.Download(e.host.Bytes()[:4], e.at(0)), e.stream.Synchronize(), graph.Close()))
	if e.word(0) != 2*2*3*5*7 {
		t.Errorf("%d threads counted", e.word(0))
	}
}

// What would hang a GPU or read foreign memory is an error of the launch. The process cannot use the GPU afterwards, so each
// fault has a process of its own: this test again.
func TestEmulatedFaults(t *testing.T) {
	const variable = "FACETRACK_TEST_FAULT"
	for _, c := range []struct {
		kernel string
		args   []any
		want   error
	}{
		{"count", []any{uint64(64)}, cuda.Code(700)},
		{"stuck", nil, cuda.Code(719)},
		{"unknown", nil, cuda.Code(801)},
	} {
		switch os.Getenv(variable) {
		case "":
			child := exec.Command(os.Args[0], "-test.run=^TestEmulatedFaults$", "-test.v")
			child.Env = append(os.Environ(), variable+"="+c.kernel)
			if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "launch of "+c.kernel) {
				t.Errorf("%s: %v\n%s", c.kernel, err, out)
			}
		case c.kernel:
			err := newEmulation(t).run(c.kernel, cuda.Dim{X: 2}, cuda.Dim{X: 32}, 0, c.args...)
			t.Logf("launch of %s: %v", c.kernel, err)
			if !errors.Is(err, c.want) {
				t.Errorf("want %v", c.want)
			}
		}
	}
}

// More than 48 KiB of shared memory is for kernels that were allowed to have it.
func TestLaunchWithMuchSharedMemory(t *testing.T) {
	e := newEmulation(t)
	f, err := e.module.Function("multiply")
	e.must(err)
	launch := func(bytes int) error {
		return e.stream.Launch(f, cuda.Dim{X: 1}, cuda.Dim{X: 32}, bytes, e.at(0), e.at(256), e.at(512))
	}
	most := e.ctx.Device().SharedMemory
	if err := launch(48<<10 + 1); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("without asking: %v", err)
	}
	if err := f.AllowShared(most + 1); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("more than the device has: %v", err)
	}
	e.must(f.AllowShared(most))
	e.must(errors.Join(launch(most), e.stream.Synchronize()))
}
