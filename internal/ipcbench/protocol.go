package ipcbench

import "facetrack/gpuring"

// Orders to the second process.
const (
	opStart  = "start"  // connect to NATS, and to the GPU if there is one
	opOpen   = "open"   // attach to a ring, or make ready for messages
	opRound  = "round"  // subscribe; frames come after the answer
	opFinish = "finish" // say what the round gave
)

// order is one line to the second process.
type order struct {
	Op     string              `json:"op"`
	NATS   string              `json:"nats,omitempty"`
	GPU    string              `json:"gpu,omitempty"`  // UUID; empty: look at frames with the CPU
	Name   string              `json:"name,omitempty"` // of the transport and format; open makes it, round uses it
	Kind   kind                `json:"kind,omitempty"`
	Sync   gpuring.Sync        `json:"sync,omitempty"`
	Camera string              `json:"camera,omitempty"`
	Shape  gpuring.Geometry    `json:"shape,omitzero"`
	Ring   *gpuring.Descriptor `json:"ring,omitempty"`
	Round  roundOrder          `json:"round,omitzero"`
}

// roundOrder is how to look at the frames of a round.
type roundOrder struct {
	Lanes  int  `json:"lanes,omitempty"`
	Passes int  `json:"passes,omitempty"`  // of the check of every byte
	WarmUp int  `json:"warm_up,omitempty"` // frames whose times are not kept
	Timed  bool `json:"timed,omitempty"`   // keep times, and let the two kernels take turns
}

// answer is the second process's line.
type answer struct {
	Error    string  `json:"error,omitempty"`
	Note     string  `json:"note,omitempty"`
	Sync     string  `json:"sync,omitempty"`
	AttachMS float64 `json:"attach_ms,omitempty"`
	Read     *tally  `json:"read,omitempty"`
}

// tally is what a round gave.
type tally struct {
	Arrived    []int64 `json:"arrived_ns,omitempty"` // when the message was there, less t0, of all these frames
	Minimal    []int64 `json:"minimal_ns,omitempty"` // t1 - t0 of frames with the kernel that reads one tile
	Whole      []int64 `json:"whole_ns,omitempty"`   // and of those with the kernel that reads every byte
	Frames     int     `json:"frames"`               // with those of the warm-up
	Mismatches int     `json:"mismatches"`           // frames that were not what had been written
	Failed     int     `json:"failed"`               // frames that could not be read
	Failure    string  `json:"failure,omitempty"`    // why the first one could not
	Up         int64   `json:"bytes_up"`             // passed to upload calls
	Down       int64   `json:"bytes_down"`           // passed to download calls
}

func (t *tally) add(o tally) {
	t.Arrived = append(t.Arrived, o.Arrived...)
	t.Minimal, t.Whole = append(t.Minimal, o.Minimal...), append(t.Whole, o.Whole...)
	t.Frames += o.Frames
	t.Mismatches += o.Mismatches
	t.Failed += o.Failed
	t.Up += o.Up
	t.Down += o.Down
	if t.Failure == "" {
		t.Failure = o.Failure
	}
}
