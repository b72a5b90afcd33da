package ledger

import "facetrack/internal/latency"

// Summary is the account of one camera. Captured = Tracked + sum of Dropped + Open, always; Open is 0 after Close.
type Summary struct {
	Captured   uint64                         `json:"captured"`
	Tracked    uint64                         `json:"tracked"`
	Dropped    map[string]uint64              `json:"dropped"`       // by "stage:reason"
	Open       int                            `json:"open"`          // on their way
	End        string                         `json:"end,omitempty"` // why the source gave no more frames
	FPS        float64                        `json:"fps"`           // tracked frames per second
	Faces      uint64                         `json:"faces"`         // sum over tracked frames
	Identities map[int]uint64                 `json:"identities"`
	LatencyMS  Latency                        `json:"latency_ms"`
	StageMS    map[string]latency.Percentiles `json:"stage_ms"` // time from the message before to this stage's message
}

// Latency holds the latencies of a camera in milliseconds.
type Latency struct {
	CaptureToTracks latency.Percentiles `json:"capture_to_tracks"`
}

// TotalDropped is the sum over all reasons.
func (s Summary) TotalDropped() uint64 {
	var n uint64
	for _, v := range s.Dropped {
		n += v
	}
	return n
}
