package gpuring

import "time"

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
	reader := r.(*ringReader)
	reader.mu.Lock()
	defer reader.mu.Unlock()
	reader.pulse.stop()
	reader.pulse = every(time.Hour, func() {})
}
