package doctor

// Status is the outcome of a check.
type Status string

// What a check can come to.
const (
	OK      Status = "ok"
	Warn    Status = "warn" // facetrack works, but not as fast as this machine might let it
	Fail    Status = "fail" // broken: it should work here and does not
	Skipped Status = "skipped"
)

// Check is what was looked at, what was seen, and what to do about it.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Seen   string `json:"seen"`
	Cure   string `json:"cure,omitempty"`
}

// Trip is a two-process round trip: frames written here, read and checked by a child process.
type Trip struct {
	OK       bool    `json:"ok"`
	Sync     string  `json:"sync,omitempty"`      // how the child waited for uploads
	AttachMS float64 `json:"attach_ms,omitempty"` // opening the ring, without making a CUDA context
	Frames   int     `json:"frames,omitempty"`    // 1080p NV12
	P50US    float64 `json:"p50_us,omitempty"`    // publish → upload → read by the child into its own memory → answer here
	MaxUS    float64 `json:"max_us,omitempty"`
	Error    string  `json:"error,omitempty"`
	Cure     string  `json:"-"` // stands with the check
}

// Names of round trips.
const (
	TripEvents = "events" // cuda-ipc, uploads are waited for by interprocess events
	TripMemOps = "memops" // cuda-ipc, by stream memory operations
	TripShm    = "shm"
)

// Report is everything that was found.
type Report struct {
	Checks []Check `json:"checks"`
	// Transport is how processes of this machine will get pixels: "cuda-ipc", "shm" or "copy", "none" when the configuration
	// leaves none that works; Reason says why.
	Transport  string          `json:"transport"`
	Reason     string          `json:"transport_reason"`
	RoundTrips map[string]Trip `json:"roundtrip"`
}

// Failed tells whether anything is broken.
func (r Report) Failed() bool {
	for _, c := range r.Checks {
		if c.Status == Fail {
			return true
		}
	}
	return false
}

func ok(seen string) Check         { return Check{Status: OK, Seen: seen} }
func skipped(why string) Check     { return Check{Status: Skipped, Seen: why} }
func warn(seen, cure string) Check { return Check{Status: Warn, Seen: seen, Cure: cure} }
func fail(seen, cure string) Check { return Check{Status: Fail, Seen: seen, Cure: cure} }

// failed is a failure that the table of cures knows.
func failed(what string, err error) Check { return fail(what+err.Error(), cureOf(err)) }
