package kernels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// rig is a device with the kernels, a stream, and memory for a frame, which begins offset bytes behind a 512-byte boundary.
type rig struct {
	t      *testing.T
	set    *Set
	stream *cuda.Stream
	memory *cuda.Memory
	host   *cuda.Pinned
}

const counterAt, frameAt = 0, 512 // offsets in the device memory

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx := cudatest.Use(t)
	r := &rig{t: t, set: must(Load(ctx))(t), stream: must(ctx.NewStream())(t), memory: must(ctx.Alloc(1 << 20))(t), host: must(ctx.AllocPinned(1 << 20))(t)}
	t.Cleanup(func() {
		for range 2 { // closing again is harmless
			if err := errors.Join(r.stream.Synchronize(), r.set.Close()); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(r.host.Close(), r.memory.Close(), r.stream.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (r *rig) do(errs ...error) {
	r.t.Helper()
	if err := errors.Join(append(errs, r.stream.Synchronize())...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) address(offset int) uint64 { return r.memory.Address() + uint64(offset) }

func (r *rig) download(offset, n int) []byte {
	r.t.Helper()
	r.do(r.stream.Download(r.host.Bytes()[:n], r.address(offset)))
	return bytes.Clone(r.host.Bytes()[:n])
}

func (r *rig) upload(offset int, data []byte) {
	r.t.Helper()
	r.do(r.stream.Upload(r.address(offset), r.host.Bytes()[:copy(r.host.Bytes(), data)]))
}

// count is the number of wrong tiles that the GPU finds.
func (r *rig) count(offset int, s shape, seq uint64, passes, pauseNS int) int {
	r.t.Helper()
	r.do(r.stream.Fill(r.address(counterAt), 0, 4), r.set.Check(r.stream, r.address(offset), s.rowBytes, s.rows, seq, r.address(counterAt), passes, pauseNS))
	return int(binary.LittleEndian.Uint32(r.download(counterAt, 4)))
}

func TestStampIsStampHost(t *testing.T) {
	r := newRig(t)
	for _, s := range shapes {
		for _, offset := range []int{frameAt, frameAt + 8, frameAt + 1} { // aligned for 16-byte stores, and not
			n := s.rowBytes * s.rows
			want := make([]byte, n+16) // bytes behind the frame stay
			for i := range want {
				want[i] = 0xa5
			}
			r.upload(offset, want)
			StampHost(want[:n], s.rowBytes, s.rows, 77)
			r.do(r.set.Stamp(r.stream, r.address(offset), s.rowBytes, s.rows, 77))
			if !bytes.Equal(r.download(offset, n+16), want) {
				t.Errorf("%v at %d: the GPU's frame is not the host's", s, offset)
			}
		}
	}
}

func TestCheckIsCheckHost(t *testing.T) {
	r := newRig(t)
	for _, s := range shapes {
		for _, offset := range []int{frameAt, frameAt + 8, frameAt + 1} {
			frame := make([]byte, s.rowBytes*s.rows)
			StampHost(frame, s.rowBytes, s.rows, 1<<40)
			r.upload(offset, frame)
			if n := r.count(offset, s, 1<<40, 3, 1000); n != 0 {
				t.Errorf("%v at %d: %d wrong tiles in a whole frame", s, offset, n)
			}
			for i := 0; i < len(frame); i += 1 + len(frame)/7 {
				frame[i] ^= 0x10
			}
			frame[len(frame)-1] ^= 0x01
			r.upload(offset, frame)
			want := CheckHost(frame, s.rowBytes, s.rows, 1<<40)
			if n := r.count(offset, s, 1<<40, 1, 0); n != want || want == 0 {
				t.Errorf("%v at %d: %d wrong tiles, want %d", s, offset, n, want)
			}
			if n := r.count(offset, s, 1<<40, 4, 2000); n != 4*want {
				t.Errorf("%v at %d: %d wrong tiles in four passes, want %d", s, offset, n, 4*want)
			}
		}
	}
}

func TestReadCanary(t *testing.T) {
	r := newRig(t)
	cell := make([]byte, 64)
	for i := range cell {
		cell[i] = byte(3*i + 1)
	}
	r.upload(1024, cell)
	r.do(r.set.ReadCanary(r.stream, r.address(1024), r.address(4096)))
	if !bytes.Equal(r.download(4096, 64), cell) {
		t.Error("the cell was not copied")
	}
}

func TestFramesThatNoKernelTakes(t *testing.T) {
	r := newRig(t)
	for _, s := range []shape{{0, 32}, {32, 0}, {-1, 32}, {32, 65535*32 + 1}, {1 << 31, 1}} {
		err := r.set.Stamp(r.stream, r.address(frameAt), s.rowBytes, s.rows, 1)
		again := r.set.Check(r.stream, r.address(frameAt), s.rowBytes, s.rows, 1, r.address(counterAt), 1, 0)
		if !errors.Is(err, ErrShape) || !errors.Is(again, ErrShape) {
			t.Errorf("%v: %v and %v", s, err, again)
		}
	}
}
