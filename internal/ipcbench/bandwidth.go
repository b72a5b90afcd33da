package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// Kinds of host memory.
const (
	memoryPinned     = "page-locked by the driver"
	memoryRegistered = "/dev/shm, page-locked afterwards (the ring's)"
	memoryPlain      = "pageable"
)

// hostMemory is a frame in one kind of memory.
type hostMemory struct {
	what  string
	bytes []byte
	free  func() error
}

// uploads measures how long a frame's upload takes from each kind of memory, in blocks that take turns.
func (b *bench) uploads(ctx context.Context) error {
	for _, f := range b.o.Formats {
		if err := b.uploadsOf(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) uploadsOf(ctx context.Context, f gpuring.Format) (err error) {
	size := b.o.geometry(f).FrameBytes()
	memories, err := b.memories(size)
	defer func() {
		for _, m := range memories {
			err = errors.Join(err, m.free())
		}
	}()
	if err != nil {
		return err
	}
	stream, err := b.gpu.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	to, err := b.gpu.Alloc(int64(size))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Synchronize(), to.Close()) }()
	times := make([][]int64, len(memories))
	for range b.plan.blocks {
		for i, m := range memories {
			for n := range b.plan.copies + b.plan.warmUp {
				began := time.Now()
				if err := errors.Join(stream.Upload(to.Address(), m.bytes), stream.Synchronize(), ctx.Err()); err != nil {
					return err
				}
				if n >= b.plan.warmUp {
					times[i] = append(times[i], int64(time.Since(began)))
				}
			}
		}
	}
	b.report(f, size, memories, times)
	return nil
}

func (b *bench) report(f gpuring.Format, size int, memories []hostMemory, times [][]int64) {
	pinned := figure(times[0]).P50
	for i, m := range memories {
		w := Bandwidth{Format: string(f), Memory: m.what, Time: figure(times[i])}
		w.GBs, w.Ratio = round2(float64(size)/1e3/max(w.Time.P50, 1e-9)), ratio(w.Time.P50, pinned)
		b.result.Uploads = append(b.result.Uploads, w)
	}
}

// memories are touched, so that no page fault is measured; what was made is returned with an error, too.
func (b *bench) memories(size int) (all []hostMemory, err error) {
	pinned, err := b.gpu.AllocPinned(size)
	if err != nil {
		return all, err
	}
	all = append(all, hostMemory{memoryPinned, pinned.Bytes(), pinned.Close})
	shared, err := mapShared(b.o.Dir, size)
	if err != nil {
		return all, err
	}
	locked, err := b.gpu.Register(shared)
	if err != nil {
		return all, errors.Join(err, unix.Munmap(shared))
	}
	all = append(all, hostMemory{memoryRegistered, shared, func() error { return errors.Join(locked.Close(), unix.Munmap(shared)) }})
	plain, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return all, err
	}
	all = append(all, hostMemory{memoryPlain, plain, func() error { return unix.Munmap(plain) }})
	for _, m := range all {
		for i := range m.bytes {
			m.bytes[i] = byte(i)
		}
	}
	return all, nil
}

// mapShared maps a file of a folder that has no name any more.
func mapShared(dir string, size int) ([]byte, error) {
	f, err := os.CreateTemp(dir, "facetrack-ipcbench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(size)); err != nil {
		return nil, fmt.Errorf("take %d bytes of %s: %w", size, dir, err)
	}
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// timer measures work on the GPU.
type timer struct {
	stream     *cuda.Stream
	begin, end *cuda.Event
}

func newTimer(gpu *cuda.Context) (_ *timer, err error) {
	t := &timer{}
	if t.stream, err = gpu.NewStream(); err != nil {
		return nil, err
	}
	if t.begin, err = gpu.NewEvent(cuda.EventOptions{Timing: true}); err == nil {
		t.end, err = gpu.NewEvent(cuda.EventOptions{Timing: true})
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// us is the time of one of n pieces of work in microseconds.
func (t *timer) us(n int, work func() error) (float64, error) {
	if err := errors.Join(work(), t.stream.Record(t.begin)); err != nil {
		return 0, err
	}
	for range n {
		if err := work(); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(t.stream.Record(t.end), t.stream.Synchronize()); err != nil {
		return 0, err
	}
	ms, err := t.end.ElapsedMS(t.begin)
	return ms * 1e3 / float64(n), err
}

func (t *timer) Close() error {
	var all []error
	for _, e := range []*cuda.Event{t.begin, t.end} {
		if e != nil {
			all = append(all, e.Close())
		}
	}
	return errors.Join(append(all, t.stream.Close())...)
}
