package gpuring

import (
	"time"

	"golang.org/x/sys/unix"
)

// Faults lets tests of other packages name the switches.
type Faults = faults

// Inject makes rings opened from now on have the faults, until restore is called.
func Inject(f Faults) (restore func()) {
	before := injected
	injected = f
	return func() { injected = before }
}

// Stall ends a reader's heartbeat, as if its process hung.
func Stall(r Reader) {
	reader, ok := r.(*ringReader)
	if !ok {
		reader = r.(*deviceReader).ringReader
	}
	reader.mu.Lock()
	defer reader.mu.Unlock()
	reader.pulse.stop()
	reader.pulse = every(time.Hour, func() {})
}

// Maps reports whether a device reader still has the ring's memory.
func Maps(r Reader) bool {
	reader := r.(*deviceReader).ringReader
	reader.mu.Lock()
	defer reader.mu.Unlock()
	return !reader.device.closed
}

// Released reports whether Close has come to the pixels.
func Released(w Writer) bool {
	writer := w.(*deviceWriter).ringWriter
	writer.mu.Lock()
	defer writer.mu.Unlock()
	return writer.released
}

// Poison lets streams go that wait for frames which will not come.
func Poison(r Reader) { r.(*deviceReader).fences.poison() }

// CreateWithin is Create in a folder that is full unless there is room.
func CreateWithin(o Options, room func() bool) (Writer, error) {
	mem := hostMemory
	mem.reserve = func(o Options, id identity) (pixels, error) {
		if !room() {
			return nil, unix.ENOSPC
		}
		return newHostPixels(o, id)
	}
	return create(o, mem)
}
