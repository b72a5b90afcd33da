package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/half"
	"facetrack/internal/source"
	"facetrack/vision"
)

// rig is a device with the kernels, and memory that a test takes piece by piece.
type rig struct {
	*testing.T
	set    *Set
	stream *cuda.Stream
	memory *cuda.Memory
	host   *cuda.Pinned
	taken  int
}

const rigBytes = 32 << 20

func newRig(t *testing.T) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/image")
	ctx := cudatest.Use(t)
	r := &rig{T: t}
	var errs [4]error
	r.set, errs[0] = Load(ctx)
	r.stream, errs[1] = ctx.NewStream()
	r.memory, errs[2] = ctx.Alloc(rigBytes)
	r.host, errs[3] = ctx.AllocPinned(rigBytes)
	r.must(errors.Join(errs[:]...))
	t.Cleanup(func() {
		if err := errors.Join(r.stream.Synchronize(), r.set.Close(), r.host.Close(), r.memory.Close(), r.stream.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// take is memory of so many bytes, some bytes behind a multiple of 256.
func (r *rig) take(n, offset int) uint64 {
	r.Helper()
	at := r.taken + offset
	if r.taken = (at + n + 255) / 256 * 256; r.taken > rigBytes {
		r.Fatalf("a test needs more than %d bytes", rigBytes)
	}
	return r.memory.Address() + uint64(at)
}

// put uploads data to memory of its own.
func (r *rig) put(data []byte, offset int) uint64 {
	r.Helper()
	at := r.take(max(len(data), 1), offset)
	r.must(errors.Join(r.stream.Upload(at, r.host.Bytes()[:copy(r.host.Bytes(), data)]), r.stream.Synchronize()))
	return at
}

// target is memory for n images, filled with what no kernel writes, and a place behind it.
func (r *rig) target(size, n int, halves bool, offset int) Target {
	r.Helper()
	bytes := n*size*size*3*width(halves) + 64
	at := r.take(bytes, offset)
	r.must(r.stream.Fill(at, stale, int64(bytes)))
	return Target{Address: at, Size: size, Half: halves}
}

const stale = 0xa5

func width(halves bool) int {
	if halves {
		return 2
	}
	return 4
}

// images are what is in the target, as float32. Nothing may have been written behind it.
func (r *rig) images(to Target, n int) [][]float32 {
	r.Helper()
	each, w := to.Size*to.Size*3, width(to.Half)
	raw := r.host.Bytes()[:n*each*w+64]
	r.must(errors.Join(r.stream.Download(raw, to.Address), r.stream.Synchronize()))
	for _, b := range raw[n*each*w:] {
		if b != stale {
			r.Fatal("written behind the target")
		}
	}
	all := make([]float32, n*each)
	if to.Half {
		half.Read(all, raw[:len(all)*2])
	} else {
		for i := range all {
			all[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
	var out [][]float32
	for i := range n {
		out = append(out, all[i*each:(i+1)*each])
	}
	return out
}

// same expects the twin's values: bit for bit where Go rounds every operation, else to the last bits.
func (r *rig) same(what string, got, want []float32, halves bool) {
	r.Helper()
	bound := 0.0
	if runtime.GOARCH != "amd64" {
		bound = 1e-4
	}
	for i, w := range want {
		if halves {
			w = half.Round(w)
		}
		if d := math.Abs(float64(got[i] - w)); !(d <= bound) {
			r.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

var formats = []vision.Format{vision.BGR, vision.NV12, vision.YUYV}

// noise is an image of random bytes; its sides are even where the format wants it.
func noise(f vision.Format, w, h int, seed uint64) vision.Image {
	if f != vision.BGR {
		w += w % 2
	}
	if f == vision.NV12 {
		h += h % 2
	}
	n, err := vision.FrameBytes(f, w, h)
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	m := vision.Image{Format: f, Width: w, Height: h, Pix: make([]byte, n)}
	for i := range m.Pix {
		m.Pix[i] = byte(rng.Uint32())
	}
	return m
}

// drawn is a frame of the drawn faces.
func drawn(t *testing.T, f vision.Format, w, h int) vision.Image {
	t.Helper()
	p, err := source.ParseSynthetic(fmt.Sprintf("synthetic:faces=1,size=%dx%d,format=%s", w, h, f))
	if err != nil {
		t.Fatal(err)
	}
	s := source.NewSynthetic(p)
	m := vision.Image{Format: f, Width: w, Height: h, Pix: make([]byte, s.Info().FrameBytes())}
	if err := errors.Join(s.Skip(1), s.Retrieve(m.Pix), s.Close()); err != nil {
		t.Fatal(err)
	}
	return m
}
