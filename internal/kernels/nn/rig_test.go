package nn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/half"
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

const rigBytes = 8 << 20

func newRig(t *testing.T) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/nn")
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

// take is memory of so many bytes that begins `offset` bytes behind a multiple of 256.
func (r *rig) take(n, offset int) uint64 {
	r.Helper()
	at := r.taken + offset
	if r.taken = (at + n + 255) / 256 * 256; r.taken > rigBytes {
		r.Fatalf("a test needs more than %d bytes", rigBytes)
	}
	return r.memory.Address() + uint64(at)
}

func (r *rig) upload(at uint64, data []byte) {
	r.Helper()
	r.must(errors.Join(r.stream.Upload(at, r.host.Bytes()[:copy(r.host.Bytes(), data)]), r.stream.Synchronize()))
}

func (r *rig) download(at uint64, n int) []byte {
	r.Helper()
	r.must(errors.Join(r.stream.Download(r.host.Bytes()[:n], at), r.stream.Synchronize()))
	return bytes.Clone(r.host.Bytes()[:n])
}

// encode is values as they lie in memory.
func encode(p Precision, values []float32) (out []byte) {
	if p == F16 {
		return half.Append(nil, values...)
	}
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func decode(p Precision, data []byte) []float32 {
	out := make([]float32, len(data)/p.Bytes())
	if p == F16 {
		half.Read(out, data)
		return out
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// random values are normally distributed, and exact in the precision.
func random(r *rand.Rand, p Precision, n int, scale float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64() * scale)
		if p == F16 {
			out[i] = half.Round(out[i])
		}
	}
	return out
}
