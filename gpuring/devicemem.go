package gpuring

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/cuda"
)

const (
	proofCells = 32 // at least MaxReaders: each may prove its link at once
	cellBytes  = 64
	readyAt    = proofCells * cellBytes
	slotAlign  = 512     // of a slot's address: whole transactions for every warp
	firstSlot  = 8 << 10 // behind the cells and at most 256+32+1 ready words
	granule    = 2 << 20 // an IPC handle exposes whole pages of device memory
)

// layoutDevice says where everything is in the allocation of a ring.
func layoutDevice(g Geometry) DeviceMemory {
	stride := roundUp(int64(g.FrameBytes()), slotAlign)
	return DeviceMemory{
		Ready: readyAt, First: firstSlot, Stride: stride,
		Bytes: roundUp(firstSlot+int64(g.Slots)*stride, granule),
	}
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// sameLayout reports whether the numbers of a descriptor that came from elsewhere are those of its geometry.
func (d *DeviceMemory) sameLayout(g Geometry) bool {
	want := layoutDevice(g)
	return d.Bytes == want.Bytes && d.First == want.First && d.Stride == want.Stride && d.Ready == want.Ready &&
		d.Proofs == want.Proofs && (len(d.Events) == 0 || len(d.Events) == g.Slots+1)
}

// deviceMem is a ring's device memory and events in one process: the writer's own, shared with the readers in its process, or
// imported. It ends with its last user.
type deviceMem struct {
	layout DeviceMemory
	slots  int
	mem    *cuda.Memory
	events []*cuda.Event // one a slot, then the proof's; none: only ready words tell

	mu    sync.Mutex
	users int
}

// The addresses of a slot's pixels, of its ready word, of a proof cell and of its word, and of a word to try things out.
func (m *deviceMem) slot(i int) uint64       { return m.at(m.layout.First + int64(i)*m.layout.Stride) }
func (m *deviceMem) ready(i int) uint64      { return m.at(m.layout.Ready + 8*int64(i)) }
func (m *deviceMem) cell(i int) uint64       { return m.at(m.layout.Proofs + cellBytes*int64(i)) }
func (m *deviceMem) proofReady(i int) uint64 { return m.ready(m.slots + i) }
func (m *deviceMem) trial() uint64           { return m.ready(m.slots + proofCells) }
func (m *deviceMem) at(offset int64) uint64  { return m.mem.Address() + uint64(offset) }

// proofEvent is nil when there are no events.
func (m *deviceMem) proofEvent() *cuda.Event {
	if len(m.events) == 0 {
		return nil
	}
	return m.events[m.slots]
}

// allocate takes the memory of a new ring, zeroed, and exports it.
func allocate(gpu *cuda.Context, g Geometry) (_ *deviceMem, err error) {
	m := &deviceMem{layout: layoutDevice(g), slots: g.Slots, users: 1}
	m.layout.GPU = gpu.Device().UUID.String()
	if m.mem, err = gpu.Alloc(m.layout.Bytes); err != nil {
		return nil, deviceError(fmt.Sprintf("take %d MiB of device memory", m.layout.Bytes>>20), err)
	}
	if m.layout.Memory, err = m.mem.Handle(); err != nil {
		return nil, errors.Join(deviceError("export device memory", err), m.mem.Close())
	}
	if err := m.makeEvents(gpu); err != nil {
		return nil, errors.Join(deviceError("make events", err), m.leave())
	}
	return m, nil
}

// makeEvents makes them interprocess events if the device has such; if not, other processes wait for ready words.
func (m *deviceMem) makeEvents(gpu *cuda.Context) error {
	err := m.exportEvents(gpu)
	if err == nil {
		return nil
	}
	m.layout.EventsError, m.layout.Events = err.Error(), nil
	_ = m.closeEvents()
	for range m.slots + 1 {
		e, err := gpu.NewEvent(cuda.EventOptions{})
		if err != nil {
			return err
		}
		m.events = append(m.events, e)
	}
	return nil
}

func (m *deviceMem) exportEvents(gpu *cuda.Context) error {
	for range m.slots + 1 {
		e, err := gpu.NewEvent(cuda.EventOptions{Interprocess: true})
		if err != nil {
			return err
		}
		m.events = append(m.events, e)
		h, err := e.Handle()
		if err != nil {
			return err
		}
		m.layout.Events = append(m.layout.Events, h)
	}
	return nil
}

// join makes one more user; false when the memory has gone.
func (m *deviceMem) join() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users == 0 {
		return false
	}
	m.users++
	return true
}

// leave ends one use; the last one gives everything back.
func (m *deviceMem) leave() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users > 0 {
		return nil
	}
	return errors.Join(m.closeEvents(), m.mem.Close())
}

func (m *deviceMem) closeEvents() error {
	var all []error
	for _, e := range m.events {
		all = append(all, e.Close())
	}
	m.events = nil
	return errors.Join(all...)
}

func deviceError(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDevice, what, err)
}
