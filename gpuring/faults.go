package gpuring

// faults switch single mechanisms of the protocol off, so that tests can prove that each is needed and that
// its absence is noticed. Nothing outside this package's tests can set them.
type faults struct {
	IgnoreGeneration bool   // Lease takes a slot whatever its generation
	IgnoreHolders    bool   // Begin takes a slot that readers hold
	IgnoreRevocation bool   // a revoked reader believes in its leases
	NoReaper         bool   // dead and stalled readers keep their slots
	DeafToDeath      bool   // the end of a process goes unnoticed
	BeforeHold       func() `json:"-"` // runs inside Lease, between its look at the slot and its exchange
}

// injected is copied by each opening of a ring.
var injected faults
