package gpuring

import (
	"errors"
	"fmt"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
	"facetrack/internal/cuda"
)

// uploadState is what is known of a slot's last upload.
type uploadState uint8

const (
	uploadNone   uploadState = iota
	uploadMarked             // the slot's event was recorded behind it
	uploadCut                // something failed on the way: only the whole stream tells when the host slot is free
	uploadLost               // the frame was published, and the GPU failed before it was there
)

// stagedPixels keeps the frames of a writer twice: in shared host memory, page-locked, and, uploaded from there, in
// device memory. All but Close is called with the writer's lock held.
type stagedPixels struct {
	*hostPixels
	mem    *deviceMem
	gpu    *cuda.Context
	fill   func(s *cuda.Stream, v View, seq uint64) error
	stream *cuda.Stream
	locked *cuda.Pinned // the mapping of the host slots
	words  *readyWords
	states []uploadState
	queued []int64 // when the upload of a slot was, CLOCK_MONOTONIC ns
	moved  int64   // when an upload was last seen to have ended
	late   bool    // Close has waited for the uploads in vain
	proofs *prover

	uploads, failures uint64
}

var stagedMemory = memory{reserve: newStagedPixels, open: openHostPixels, shared: pixelBytes}

func newStagedPixels(o Options, id identity) (_ pixels, err error) {
	host, err := newHostPixels(o, id)
	if err != nil {
		return nil, err
	}
	p := &stagedPixels{hostPixels: host.(*hostPixels), gpu: o.GPU, fill: o.Fill, states: make([]uploadState, o.Geometry.Slots)}
	p.queued = make([]int64, len(p.states))
	if err := p.prepare(o.Geometry); err != nil {
		return nil, errors.Join(err, p.unlink(), p.Close())
	}
	return p, nil
}

func (p *stagedPixels) prepare(g Geometry) (err error) {
	if p.locked, err = p.gpu.Register(p.m.Bytes(0, int(pixelBytes(g)))); err != nil {
		return deviceError("page-lock the ring (its folder must be a tmpfs, as /dev/shm is)", err)
	}
	if p.mem, err = allocate(p.gpu, g); err != nil {
		return err
	}
	if p.stream, err = p.gpu.NewStream(); err != nil {
		return deviceError("make the upload stream", err)
	}
	if p.words, err = newReadyWords(p.gpu, p.mem); err != nil {
		return deviceError("take page-locked memory", err)
	}
	if p.proofs, err = newProver(p.gpu, p.mem); err != nil {
		return deviceError("prepare proofs", err)
	}
	return nil
}

func (p *stagedPixels) view(slot int) View {
	v := p.hostPixels.view(slot)
	v.Device = p.mem.slot(slot)
	return v
}

func (p *stagedPixels) place(d *Descriptor) error {
	d.Device = &p.mem.layout
	d.Device.PID = d.WriterPID
	return p.hostPixels.place(d)
}

// upload queues frame seq of a slot, then the generation that says that it is there, then the slot's event.
func (p *stagedPixels) upload(slot int, generation, seq uint64) error {
	err := p.queue(slot, generation, seq)
	p.queued[slot] = clock.Now()
	if err != nil {
		p.states[slot] = uploadCut
		p.failures++
		return deviceError(fmt.Sprintf("upload frame %d", seq), err)
	}
	p.states[slot] = uploadMarked
	p.uploads++
	return nil
}

func (p *stagedPixels) queue(slot int, generation, seq uint64) error {
	v := p.view(slot)
	var err error
	if p.fill != nil {
		err = p.fill(p.stream, v, seq)
	} else {
		err = p.stream.Upload(v.Device, v.Host)
	}
	if err == nil {
		err = p.words.write(p.stream, slot, generation)
	}
	if err == nil {
		err = p.stream.Record(p.mem.events[slot])
	}
	return err
}

// pending reports whether the GPU may still read the host slot. A GPU that fails is no reason to pass over the slot:
// the next upload says so.
func (p *stagedPixels) pending(slot int) bool {
	var done bool
	var err error
	switch p.states[slot] {
	case uploadNone, uploadLost:
		return false
	case uploadMarked:
		if done, err = p.mem.events[slot].Done(); err != nil {
			p.states[slot] = uploadLost
			return false
		}
	default:
		done, err = p.stream.Done()
	}
	if !done && err == nil {
		return true
	}
	p.states[slot], p.moved = uploadNone, clock.Now()
	return false
}

// stall returns for how long none of the uploads under way has ended.
func (p *stagedPixels) stall() time.Duration {
	var oldest int64
	for slot := range p.states {
		if p.pending(slot) && (oldest == 0 || p.queued[slot] < oldest) {
			oldest = p.queued[slot]
		}
	}
	if oldest == 0 {
		return 0
	}
	return clock.Since(max(oldest, p.moved))
}

// stats counts; what is under way is asked of the GPU as long as the ring is not being released.
func (p *stagedPixels) stats(s *Stats, ask bool) {
	s.DeviceBytes, s.Uploads, s.UploadFailures = p.mem.layout.Bytes, p.uploads, p.failures
	if !ask {
		return
	}
	for slot := range p.states {
		if p.pending(slot) {
			s.UploadPending++
		}
		if p.states[slot] == uploadLost {
			s.UploadsLost++
		}
	}
}

// Close lets the uploads end first. If the GPU does not finish them, everything that it may touch stays where it is until a later call
// finds that they have ended.
func (p *stagedPixels) Close() error {
	if p.gpu == nil {
		return nil
	}
	if err := p.finish(); err != nil {
		return err
	}
	p.gpu = nil
	err := errors.Join(p.stream.Close(), p.proofs.close(), p.words.close(), p.locked.Close())
	if p.mem != nil {
		err = errors.Join(err, p.mem.leave())
	}
	return errors.Join(err, p.hostPixels.Close())
}

// finish waits for the uploads, once; ErrUploading when they do not end.
func (p *stagedPixels) finish() error {
	if p.stream == nil {
		return nil
	}
	limit := patience
	if p.late {
		limit = 0
	}
	if err := finishWithin(p.stream, limit); !errors.Is(err, errLate) {
		return nil // a GPU that has failed touches nothing any more
	}
	p.late = true
	var err error
	if p.f != nil {
		err = p.f.Close()
		p.f = nil
	}
	return errors.Join(deviceError("free the ring", ErrUploading), err)
}

// readyWords write generations in the order of a stream.
type readyWords struct {
	mem    *deviceMem
	memOps bool
	source *cuda.Pinned // of an upload of 8 bytes, where the GPU has no memory operations
}

func newReadyWords(gpu *cuda.Context, mem *deviceMem) (*readyWords, error) {
	source, err := gpu.AllocPinned(8 * (mem.slots + proofCells))
	return &readyWords{mem: mem, memOps: gpu.Device().MemOps64, source: source}, err
}

// write queues a word; it may not be called again for the same word before the stream has passed it.
func (w *readyWords) write(s *cuda.Stream, i int, value uint64) error {
	if w.memOps {
		return s.Write64(w.mem.ready(i), value)
	}
	shm.Words(w.source.Bytes())[i].Store(value)
	return s.Upload(w.mem.ready(i), w.source.Bytes()[8*i:8*i+8])
}

func (w *readyWords) close() error {
	if w == nil {
		return nil
	}
	return w.source.Close()
}
