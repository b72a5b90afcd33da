package gpuring

import "facetrack/internal/fault"

// faults switch single mechanisms of the protocol off, so that tests can prove that each is needed and that
// its absence is noticed. Nothing outside this package's tests can set them, but for NoLeases, which the planned fault
// "leases=off" sets in all rings that are opened afterwards.
type faults struct {
	IgnoreGeneration bool   // Lease takes a slot whatever its generation
	IgnoreHolders    bool   // Begin takes a slot that readers hold
	IgnoreRevocation bool   // a revoked reader believes in its leases
	NoReaper         bool   // dead and stalled readers keep their slots
	DeafToDeath      bool   // the end of a process goes unnoticed
	NoLeases         bool   // readers hold nothing and check nothing
	NoProof          bool   // a frame counts although no proof of its upload came
	NoPoison         bool   // a stream that waits for a dead writer is left alone
	IgnoreUploads    bool   // Begin takes a slot whose upload has not finished
	DeafToLateness   bool   // a reader that comes too late does not say so
	BeforeHold       func() `json:"-"` // runs inside Lease, between its look at the slot and its exchange
}

// injected is copied by each opening of a ring.
var injected faults

func injectedNow() faults {
	f := injected
	f.NoLeases = f.NoLeases || fault.At("leases") == "off"
	return f
}
