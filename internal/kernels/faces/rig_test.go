package faces

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/kernels/image"
)

// rig is a device with the kernels, and memory that a test takes piece by piece.
type rig struct {
	*testing.T
	set    *Set
	images *image.Set
	stream *cuda.Stream
	memory *cuda.Memory
	host   *cuda.Pinned
	taken  int
}

const rigBytes = 16 << 20

func newRig(t *testing.T) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/kernels/faces", "internal/kernels/image")
	ctx := cudatest.Use(t)
	r := &rig{T: t}
	var errs [5]error
	r.set, errs[0] = Load(ctx)
	r.images, errs[1] = image.Load(ctx)
	r.stream, errs[2] = ctx.NewStream()
	r.memory, errs[3] = ctx.Alloc(rigBytes)
	r.host, errs[4] = ctx.AllocPinned(rigBytes)
	r.must(errs[:]...)
	t.Cleanup(func() {
		if err := errors.Join(r.stream.Synchronize(), r.set.Close(), r.images.Close(), r.host.Close(), r.memory.Close(), r.stream.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) must(errs ...error) {
	r.Helper()
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
}

// take is memory of so many bytes, filled with what no kernel writes.
func (r *rig) take(n int) uint64 {
	r.Helper()
	at := r.taken
	if r.taken = (at + n + 255) / 256 * 256; r.taken > rigBytes {
		r.Fatalf("a test needs more than %d bytes", rigBytes)
	}
	r.must(r.stream.Fill(r.memory.Address()+uint64(at), 0xa5, int64(n)))
	return r.memory.Address() + uint64(at)
}

// put uploads data to memory of its own.
func (r *rig) put(data []byte) uint64 {
	r.Helper()
	at := r.take(len(data))
	r.must(r.stream.Upload(at, r.host.Bytes()[:copy(r.host.Bytes(), data)]), r.stream.Synchronize())
	return at
}

func (r *rig) floats(values []float32) uint64 {
	r.Helper()
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return r.put(data)
}

func (r *rig) download(at uint64, n int) []byte {
	r.Helper()
	r.must(r.stream.Download(r.host.Bytes()[:n], at), r.stream.Synchronize())
	return bytes.Clone(r.host.Bytes()[:n])
}

// near expects numbers within a bound, which grows with numbers beyond 8192, where float32 is coarser than 1e-3.
func (r *rig) near(what string, got, want, bound float64) {
	r.Helper()
	if bound = max(bound, math.Abs(want)/(1<<23)); !(math.Abs(got-want) <= bound) {
		r.Fatalf("%s: %v, want %v ± %g", what, got, want, bound)
	}
}

// network puts out what a test says, item after item.
type network struct {
	infer.Session
	in, out []infer.Info
	values  [][]float32 // of all items
}

func (n *network) Inputs() []infer.Info  { return n.in }
func (n *network) Outputs() []infer.Info { return n.out }

func (n *network) Run(_ int, _, out []infer.Buffer) error {
	for i := range out {
		copy(out[i].Host, n.values[i])
	}
	return nil
}
