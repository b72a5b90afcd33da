package gpuring

import (
	"errors"
	"fmt"
	"time"

	"facetrack/internal/clock"
	"facetrack/internal/cuda"
)

// deviceReader is a ringReader whose pixels are in device memory.
type deviceReader struct {
	*ringReader
	same bool
}

func (r *deviceReader) SameProcess() bool { return r.same }

func (r *deviceReader) Sync() Sync {
	if r.fences.how == waitWord {
		return SyncMemOps
	}
	return SyncEvents
}

func openDevice(d Descriptor, name string, o DeviceOptions) (*deviceReader, error) {
	if d.Device == nil {
		return nil, fmt.Errorf("%w: ring %s has no device memory", ErrNotShared, d.Ring)
	}
	if err := d.Geometry.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	if !d.Device.sameLayout(d.Geometry) {
		return nil, fmt.Errorf("%w: ring %s describes another layout of device memory: use the same version of facetrack on both sides",
			ErrNotShared, d.Ring)
	}
	if o.Sync == "" {
		o.Sync = SyncAuto
	}
	if o.Sync != SyncAuto && o.Sync != SyncEvents && o.Sync != SyncMemOps {
		return nil, fmt.Errorf("%w: sync %q: use %s, %s or %s", ErrOptions, o.Sync, SyncAuto, SyncEvents, SyncMemOps)
	}
	p := &devicePixels{o: o}
	open := p.importMemory
	if w := localWriter(d); w != nil {
		p.writer, open = w, p.shareMemory
	}
	r, err := attach(d, name, open)
	if err != nil {
		return nil, err
	}
	return &deviceReader{ringReader: r, same: p.writer != nil}, nil
}

// devicePixels is a reader's access to device memory, and in the writer's own process to host memory too.
type devicePixels struct {
	o      DeviceOptions
	writer *stagedPixels // in this process
	host   pixels        // in this process
	mem    *deviceMem
	fences *fences
	closed bool
}

func (p *devicePixels) view(slot int) View {
	v := View{Device: p.mem.slot(slot)}
	if p.host != nil {
		v.Host = p.host.view(slot).Host
	}
	return v
}

func (p *devicePixels) place(*Descriptor) error { return errors.ErrUnsupported }
func (p *devicePixels) unlink() error           { return nil }

// shareMemory uses the writer's own memory and events.
func (p *devicePixels) shareMemory(d Descriptor, id identity) (_ pixels, err error) {
	if p.host, err = openHostPixels(d, id); err != nil {
		return nil, err
	}
	if !p.writer.mem.join() {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrClosed, d.Ring), p.host.Close())
	}
	p.mem = p.writer.mem
	if p.o.GPU == nil {
		p.o.GPU = p.writer.gpu
	}
	if err := p.o.GPU.EnablePeer(p.writer.gpu); err != nil {
		return nil, errors.Join(deviceError("reach the ring's GPU from another one", err), p.Close())
	}
	how := waitSoft // the recorder lives as long as the stream that waits
	switch p.o.Sync {
	case SyncEvents:
		how = waitEvent
	case SyncMemOps:
		how = waitWord
		if err := tryWords(p.o.GPU, p.mem); err != nil {
			return nil, errors.Join(deviceError("wait for ready words", err), p.Close())
		}
	}
	return p.start(how)
}

// importMemory maps what another process exported.
func (p *devicePixels) importMemory(d Descriptor, _ identity) (_ pixels, err error) {
	if p.o.GPU == nil {
		return nil, fmt.Errorf("%w: no GPU is given to import the ring with", ErrDevice)
	}
	p.mem = &deviceMem{layout: *d.Device, slots: d.Geometry.Slots, users: 1}
	if p.mem.mem, err = p.o.GPU.Import(d.Device.Memory); err != nil {
		return nil, deviceError("import the ring's device memory", err)
	}
	if n := p.mem.mem.Bytes(); n != 0 && n < p.mem.layout.Bytes {
		return nil, errors.Join(fmt.Errorf("%w: the imported device memory has %d bytes, the ring %d", ErrNotShared, n, p.mem.layout.Bytes), p.Close())
	}
	how, err := p.mem.chooseWait(p.o)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p.start(how)
}

func (p *devicePixels) start(how waitHow) (_ pixels, err error) {
	if p.fences, err = newFences(p.o.GPU, p.mem, how); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *devicePixels) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	if !p.blocked() {
		return p.end()
	}
	go func() { // another reader's heartbeat lets a stream go, soon; uploads may hang
		for p.blocked() {
			time.Sleep(beatInterval / 10)
		}
		_ = p.end() // nobody is left to be told
	}()
	return nil
}

// blocked reports whether calls that free memory would have to wait for a stream of this process: one at a fence, or that of the
// ring's uploads, if the writer is here.
func (p *devicePixels) blocked() bool {
	if p.fences == nil {
		return false
	}
	if p.writer != nil {
		if ended, err := p.writer.stream.Done(); !ended && err == nil {
			return true
		}
	}
	return p.fences.bench.blocked()
}

func (p *devicePixels) end() error {
	var err error
	if p.fences != nil {
		err = p.fences.close()
	}
	if p.host != nil {
		err = errors.Join(err, p.host.Close())
	}
	return errors.Join(err, p.mem.leave())
}

// chooseWait imports the writer's events, if they are wanted and can be had, and finds out how streams are to wait.
func (m *deviceMem) chooseWait(o DeviceOptions) (waitHow, error) {
	var noEvents error
	if o.Sync != SyncMemOps {
		noEvents = m.importEvents(o.GPU)
	}
	if o.Sync == SyncEvents {
		if noEvents != nil {
			return 0, deviceError("import the ring's events (needs /dev/shm and the IPC namespace of the writer)", noEvents)
		}
		return waitEvent, nil
	}
	noWords := tryWords(o.GPU, m)
	switch {
	case o.Sync == SyncMemOps && noWords != nil:
		return 0, deviceError("wait for ready words", noWords)
	case o.Sync == SyncMemOps, noEvents != nil && noWords == nil:
		return waitWord, nil
	case noEvents == nil && noWords == nil:
		return waitGuarded, nil
	case noEvents == nil:
		return waitSoft, nil
	}
	return 0, fmt.Errorf("%w: streams cannot wait for frames: no events (they need /dev/shm and the IPC namespace of the writer): %w; no stream memory operations: %w",
		ErrDevice, noEvents, noWords)
}

func (m *deviceMem) importEvents(gpu *cuda.Context) error {
	if len(m.layout.Events) == 0 {
		return fmt.Errorf("the writer exports none: %s", m.layout.EventsError)
	}
	for _, h := range m.layout.Events {
		e, err := gpu.ImportEvent(h)
		if err != nil {
			return errors.Join(err, m.closeEvents())
		}
		m.events = append(m.events, e)
	}
	return nil
}

// tryWords finds out whether a stream of gpu can write to and wait for a word of the ring. If that hangs, it hangs on a
// stream of its own.
func tryWords(gpu *cuda.Context, m *deviceMem) error {
	if !gpu.Device().MemOps64 {
		return fmt.Errorf("%s has no 64-bit stream memory operations", gpu.Device().Name)
	}
	s, err := gpu.NewStream()
	if err != nil {
		return err
	}
	if err = s.Write64(m.trial(), 1); err == nil {
		err = s.WaitGEQ64(m.trial(), 1)
	}
	if err == nil {
		err = finish(s)
	}
	if errors.Is(err, errLate) {
		return err // the stream stays: closing it would wait
	}
	return errors.Join(err, s.Close())
}

// stuckAfter is how long after its writer's end a stream that waits for an event counts as lost.
const stuckAfter = time.Second

// parting is what a device reader does from heartbeat to heartbeat once the writer has gone.
type parting struct {
	since int64 // when that was noticed, CLOCK_MONOTONIC ns
	told  bool
}

// part lets streams go that wait for frames which will not come. One heartbeat passes before: uploads of a writer that closed
// in order may still end.
func (p *devicePixels) part(state *parting) {
	now := clock.Now()
	if state.since == 0 {
		state.since = now
		return
	}
	if !p.fences.faults.NoPoison {
		p.fences.poison()
	}
	if state.told || p.o.Stuck == nil || now-state.since < int64(stuckAfter) {
		return
	}
	if err := p.fences.stuck(); err != nil {
		state.told = true
		go p.o.Stuck(err) // it may close this reader, which waits for its heartbeat
	}
}

// poisoned ends every wait for the generation, and is none.
func poisoned(generation uint64) uint64 { return generation | 1<<62 }

// poison writes to the ready words for which streams wait in vain. Where a word has come after all, it stays.
func (s *fences) poison() {
	list := s.waiting(waitWord)
	if len(list) == 0 {
		return
	}
	s.bench.mu.Lock()
	defer s.bench.mu.Unlock()
	for _, f := range list {
		at := s.mem.ready(f.slot)
		now, err := s.bench.readWords([]uint64{at})
		if errors.Is(err, errLate) {
			return
		}
		if err != nil || now[0] == f.generation {
			continue // a failed GPU ends every wait by itself
		}
		if s.bench.stream.Write64(at, poisoned(f.generation)) == nil {
			if finishWithin(s.bench.stream, wordPatience) != nil {
				return // the streams that wait leave it no way through: see stuck
			}
		}
	}
}

// stuck returns an error when a stream waits for an event that is not over, or for a word that poison cannot reach.
func (s *fences) stuck() error {
	for _, f := range s.waiting(waitWord) {
		return fmt.Errorf("%w: the writer is gone, and more streams of this process wait for its frames (one for slot %d) than the GPU has queues: end the process and start it again",
			ErrDevice, f.slot)
	}
	for _, f := range s.waiting(waitEvent) {
		if over, err := s.mem.events[f.slot].Done(); err == nil && !over {
			return fmt.Errorf("%w: the writer is gone, and a stream of this process waits for its event of slot %d for ever: end the process and start it again",
				ErrDevice, f.slot)
		}
	}
	return nil
}
