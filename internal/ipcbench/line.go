package ipcbench

// Line is one transport with one format.
type Line struct {
	Transport  string  `json:"name"`
	Format     string  `json:"format"`
	FrameBytes int     `json:"frame_bytes"`
	How        string  `json:"how"`
	Note       string  `json:"note,omitempty"`
	Sync       string  `json:"sync,omitempty"`
	AttachMS   float64 `json:"attach_ms,omitempty"`

	// When the frame's message had arrived in the other process, from the same beginning: the part that is not the GPU's.
	Message Figure `json:"message,omitzero"`
	// From "the frame is complete in host memory" until the consumer's host knows that a kernel of its has ended that reads
	// one tile of it: an upper bound of when a kernel may read the frame.
	MayStart Figure `json:"ready"`
	// The same with a kernel that reads and checks every byte.
	Whole Figure `json:"whole"`

	PacedRate  float64   `json:"paced_frames_per_second"` // that was reached
	Saturated  float64   `json:"fps"`                     // saturated: median of the rounds
	SatRounds  []float64 `json:"fps_rounds"`
	Checked    int       `json:"frames_checked"` // of all rounds, warm-up included
	Mismatches int       `json:"mismatches"`
	Failed     int       `json:"failed"`
	Failure    string    `json:"failure,omitempty"`
	BytesUp    float64   `json:"bytes_to_gpu_per_frame"`   // passed to upload calls, in both processes
	BytesDown  float64   `json:"bytes_from_gpu_per_frame"` // passed to download calls

	arrived         []int64
	mayStart, whole []int64
	up, down        int64
	secondsPaced    float64
	framesPaced     int
}

// add takes in a paced round.
func (l *Line) add(o outcome) {
	l.note(o)
	l.arrived = append(l.arrived, o.Arrived...)
	l.mayStart, l.whole = append(l.mayStart, o.Minimal...), append(l.whole, o.Whole...)
	l.MayStart.RoundP50 = append(l.MayStart.RoundP50, figure(o.Minimal).P50)
	l.Whole.RoundP50 = append(l.Whole.RoundP50, figure(o.Whole).P50)
	l.up += o.Up + o.UpHere
	l.down += o.Down
	l.framesPaced += o.Frames
	l.secondsPaced += o.Seconds
	l.PacedRate += float64(o.Counted)
}

func (l *Line) note(o outcome) {
	l.Checked += o.Frames
	l.Mismatches += o.Mismatches
	l.Failed += o.Failed
	if l.Failure == "" {
		l.Failure = o.Failure
	}
}

// sum makes the figures of all rounds.
func (l *Line) sum() {
	if len(l.arrived) > 0 {
		l.Message = figure(l.arrived)
	}
	rounds := [2][]float64{l.MayStart.RoundP50, l.Whole.RoundP50}
	l.MayStart, l.Whole = figure(l.mayStart), figure(l.whole)
	l.MayStart.RoundP50, l.Whole.RoundP50 = rounds[0], rounds[1]
	if l.secondsPaced > 0 {
		l.PacedRate = round2(l.PacedRate / l.secondsPaced)
	}
	if l.framesPaced > 0 {
		l.BytesUp, l.BytesDown = round2(float64(l.up)/float64(l.framesPaced)), round2(float64(l.down)/float64(l.framesPaced))
	}
	l.Saturated = round2(median(append([]float64{}, l.SatRounds...)))
}
