package gpuring

import (
	"errors"
	"sync"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

// patience bounds how long the host waits for work of microseconds that no frame waits for.
const patience = 2 * time.Second

// wordPatience is how long one word may take to be read or written. The hardware has few queues (8 by default): where a stream waits in
// each, the word does not come through.
const wordPatience = 200 * time.Millisecond

// workbench is where a process does work on a device that no frame waits for: proofs of links, and releasing streams that
// wait for a dead writer. All readers on a device share it, because streams share the few queues of the hardware.
type workbench struct {
	uuid  cuda.UUID
	users int // guarded by workbenches

	watched sync.Mutex
	fences  map[*fences]struct{} // of all readers on the device; guarded by watched

	mu     sync.Mutex // one user at a time
	gpu    *cuda.Context
	stream *cuda.Stream
	pinned *cuda.Pinned
	out    *cuda.Memory // where a kernel writes
	set    *kernels.Set // from the first proof on
}

var workbenches struct {
	sync.Mutex
	open map[cuda.UUID]*workbench
}

func joinWorkbench(gpu *cuda.Context) (*workbench, error) {
	workbenches.Lock()
	defer workbenches.Unlock()
	uuid := gpu.Device().UUID
	b := workbenches.open[uuid]
	if b == nil {
		var err error
		if b, err = newWorkbench(gpu.Device()); err != nil {
			return nil, err
		}
		if workbenches.open == nil {
			workbenches.open = map[cuda.UUID]*workbench{}
		}
		workbenches.open[uuid] = b
	}
	b.users++
	return b, nil
}

func newWorkbench(d cuda.Device) (b *workbench, err error) {
	b = &workbench{uuid: d.UUID, fences: map[*fences]struct{}{}}
	if b.gpu, err = cuda.Open(d); err != nil {
		return nil, deviceError("open the device", err)
	}
	if b.stream, err = b.gpu.NewStream(); err == nil {
		b.pinned, err = b.gpu.AllocPinned(8 * MaxSlots)
	}
	if err != nil {
		return nil, errors.Join(deviceError("prepare a stream", err), b.end())
	}
	return b, nil
}

func (b *workbench) leave() error {
	workbenches.Lock()
	defer workbenches.Unlock()
	if b.users--; b.users > 0 {
		return nil
	}
	delete(workbenches.open, b.uuid)
	return b.end()
}

func (b *workbench) watch(f *fences) {
	b.watched.Lock()
	defer b.watched.Unlock()
	b.fences[f] = struct{}{}
}

func (b *workbench) unwatch(f *fences) {
	b.watched.Lock()
	defer b.watched.Unlock()
	delete(b.fences, f)
}

// blocked reports whether a stream of this process waits for a writer that has gone. Calls that free memory would wait for that
// stream, and perhaps keep the poison from it.
func (b *workbench) blocked() bool {
	b.watched.Lock()
	defer b.watched.Unlock()
	for f := range b.fences {
		if len(f.waiting(waitWord))+len(f.waiting(waitEvent)) > 0 && f.gone() {
			return true
		}
	}
	return false
}

func (b *workbench) end() error {
	var all []error
	if b.set != nil {
		all = append(all, b.set.Close())
	}
	if b.out != nil {
		all = append(all, b.out.Close())
	}
	if b.pinned != nil {
		all = append(all, b.pinned.Close())
	}
	if b.stream != nil {
		all = append(all, b.stream.Close())
	}
	return errors.Join(append(all, b.gpu.Close())...)
}

// loadKernels makes readCell possible; b.mu is held.
func (b *workbench) loadKernels() (err error) {
	if b.out == nil {
		if b.out, err = b.gpu.Alloc(cellBytes); err != nil {
			return err
		}
	}
	if b.set == nil {
		b.set, err = kernels.Load(b.gpu)
	}
	return err
}

// readCell reads 64 bytes of device memory with a kernel; b.mu is held.
func (b *workbench) readCell(at uint64) (content [cellBytes]byte, err error) {
	if err := b.loadKernels(); err != nil {
		return content, err
	}
	if err := b.set.ReadCanary(b.stream, at, b.out.Address()); err != nil {
		return content, err
	}
	to := b.pinned.Bytes()[:cellBytes]
	if err := b.stream.Download(to, b.out.Address()); err != nil {
		return content, err
	}
	if err := finish(b.stream); err != nil {
		return content, err
	}
	copy(content[:], to)
	return content, nil
}

// readWords reads 64-bit words of device memory; b.mu is held.
func (b *workbench) readWords(at []uint64) ([]uint64, error) {
	for i, address := range at {
		if err := b.stream.Download(b.pinned.Bytes()[8*i:8*i+8], address); err != nil {
			return nil, err
		}
	}
	if err := finishWithin(b.stream, wordPatience); err != nil {
		return nil, err
	}
	words, values := shm.Words(b.pinned.Bytes()), make([]uint64, len(at))
	for i := range at {
		values[i] = words[i].Load()
	}
	return values, nil
}

var errLate = errors.New("the GPU did not finish in time")

// finish waits for the end of a stream's work, but not for ever.
func finish(s *cuda.Stream) error { return finishWithin(s, patience) }

func finishWithin(s *cuda.Stream, limit time.Duration) error { return poll(s.Done, limit) }

// poll asks until the answer is yes, but not for ever.
func poll(done func() (bool, error), limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Microsecond) {
		switch ok, err := done(); {
		case err != nil:
			return err
		case ok:
			return nil
		case time.Now().After(end):
			return errLate
		}
	}
}
