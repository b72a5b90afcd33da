package capture

import (
	"time"

	"facetrack/gpuring"
)

// stall notices a GPU that takes uploads and ends none, without an error. An upload takes a millisecond at most.
type stall struct {
	noticed  time.Duration // after so long it is the reason why frames are dropped
	hopeless time.Duration // after so long the GPU is given up

	ended uint64 // uploads
	since time.Time
}

func newStall() stall { return stall{noticed: 200 * time.Millisecond, hopeless: 2 * time.Second} }

// seen returns for how long no upload has ended although some are under way.
func (s *stall) seen(now gpuring.Stats, at time.Time) time.Duration {
	ended := now.Uploads - uint64(now.UploadPending) //nolint:gosec // at most as many as there were
	if now.UploadPending == 0 || ended != s.ended || s.since.IsZero() {
		s.ended, s.since = ended, at
	}
	return at.Sub(s.since)
}
