package gpuring_test

import (
	"errors"
	"sync"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// eye looks at frames in device memory, as a consumer does: wait on the GPU, work, end of the work.
type eye struct {
	mu     sync.Mutex
	ctx    *cuda.Context
	stream *cuda.Stream
	pinned *cuda.Pinned
}

func newEye(ctx *cuda.Context) (*eye, error) {
	s, err := ctx.NewStream()
	return &eye{ctx: ctx, stream: s}, err
}

func (e *eye) get(v gpuring.View, frame []byte) error {
	if v.Device == 0 {
		copy(frame, v.Host)
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pinned == nil || len(e.pinned.Bytes()) < len(frame) {
		p, err := e.ctx.AllocPinned(len(frame))
		if err := errors.Join(err, e.pinned.Close()); err != nil {
			return err
		}
		e.pinned = p
	}
	if err := v.Fence.Wait(e.stream); err != nil {
		return err
	}
	if err := e.stream.Download(e.pinned.Bytes()[:len(frame)], v.Device); err != nil {
		return err
	}
	if err := e.stream.Synchronize(); err != nil {
		return err
	}
	copy(frame, e.pinned.Bytes())
	return nil
}

func (e *eye) close() error { return errors.Join(e.stream.Close(), e.pinned.Close()) }

func openEye(t *testing.T, ctx *cuda.Context) *eye {
	t.Helper()
	e, err := newEye(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// gate holds uploads up, on the GPU, until it is opened.
type gate struct {
	word   *cuda.Memory
	opener *cuda.Stream
}

func newGate(ctx *cuda.Context) (*gate, error) {
	word, err := ctx.Alloc(8)
	if err != nil {
		return nil, err
	}
	s, err := ctx.NewStream()
	return &gate{word, s}, err
}

// halfFrom is a Fill that stops in the middle of frames from the given one on.
func (g *gate) halfFrom(first uint64) func(*cuda.Stream, gpuring.View, uint64) error {
	return func(s *cuda.Stream, v gpuring.View, seq uint64) error {
		half := len(v.Host) / 2
		err := s.Upload(v.Device, v.Host[:half])
		if err == nil && seq >= first {
			err = s.WaitGEQ64(g.word.Address(), 1)
		}
		return errors.Join(err, s.Upload(v.Device+uint64(half), v.Host[half:]))
	}
}

func (g *gate) open() error { return g.opener.Write64(g.word.Address(), 1) }

func (g *gate) close() error { return errors.Join(g.opener.Close(), g.word.Close()) }

func openGate(t *testing.T, ctx *cuda.Context) *gate {
	t.Helper()
	g, err := newGate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
