package ipcbench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"facetrack/gpuring"
)

// Options say what to measure.
type Options struct {
	Frames        int // paced frames of each transport and format, half of them for each kernel, after warm-up
	Formats       []gpuring.Format
	Width, Height int
	Rate          int    // frames per second of paced rounds
	Readers       []int  // how many consumers the count of bytes is made with
	Computed      []int  // the same, computed from the count with one
	GPU           string // "auto", "off", an ordinal or a UUID
	Dir           string // of the rings; gpuring.DefaultDir when empty
	Python        string // interpreter of Script
	Script        string // the PyTorch side; "" leaves it out
	MPS           string // "on", "off", or "auto": look for the daemon
	Quick         bool   // a rehearsal: few frames
	Awake         bool   // the caller keeps the CPUs awake: noted in the result
	Child         []string
	Machine       Machine
	Commit        string
	Progress      io.Writer // what is being done now
}

// ErrOptions is wrapped by errors about an option.
var ErrOptions = errors.New("ipcbench: bad option")

func (o *Options) check() error {
	switch {
	case o.Frames < 1 || o.Rate < 1:
		return fmt.Errorf("%w: %d frames at %d a second: at least 1 of each", ErrOptions, o.Frames, o.Rate)
	case len(o.Formats) == 0:
		return fmt.Errorf("%w: no format: give NV12, BGR or YUYV", ErrOptions)
	case len(o.Child) == 0:
		return fmt.Errorf("%w: no command for the second process", ErrOptions)
	}
	for _, f := range o.Formats {
		if (gpuring.Geometry{Width: o.Width, Height: o.Height, Format: f}).FrameBytes() <= 0 {
			return fmt.Errorf("%w: %d×%d %s: formats are NV12, BGR and YUYV, sizes even", ErrOptions, o.Width, o.Height, f)
		}
	}
	for _, n := range slices.Concat(o.Readers, o.Computed) {
		if n < 1 || n > gpuring.MaxReaders {
			return fmt.Errorf("%w: %d readers: a ring has 1 to %d", ErrOptions, n, gpuring.MaxReaders)
		}
	}
	if o.Dir == "" {
		o.Dir = gpuring.DefaultDir
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return nil
}

// slots of each ring, and frames under way in saturated rounds: fewer, so that none is overwritten before it was leased.
const (
	slots  = 8
	window = 6
	lanes  = 3 // of a consumer in saturated rounds: streams that work at once
)

// plan is how the frames are spread over rounds.
type plan struct {
	rounds     int // paced rounds of each transport and format
	perRound   int // frames of one, both kernels together
	extraEvery int // transports that nothing is promised about take part in every so many of them
	warmUp     int // frames of each round that do not count
	roundLimit time.Duration
	saturated  int           // rounds
	saturateIn time.Duration // length of one
	copies     int           // uploads of each kind of memory, per block
	blocks     int
	byteFrames int // frames of the counts of bytes
}

func (o *Options) plan() plan {
	p := plan{
		rounds: 10, warmUp: 6, extraEvery: 3, roundLimit: 400 * time.Millisecond, saturated: 3, saturateIn: 300 * time.Millisecond,
		copies: 50, blocks: 10, byteFrames: 300,
	}
	if o.Quick {
		p = plan{rounds: 2, warmUp: 3, extraEvery: 2, roundLimit: 150 * time.Millisecond, saturated: 1, saturateIn: 100 * time.Millisecond, copies: 5, blocks: 2, byteFrames: 20}
	}
	p.rounds = min(p.rounds, o.Frames)
	p.perRound = (o.Frames + p.rounds - 1) / p.rounds
	// A transport that keeps the pace needs so long; one that does not makes fewer frames.
	pace := time.Duration(p.perRound+p.warmUp) * time.Second / time.Duration(o.Rate)
	p.roundLimit = max(p.roundLimit, pace+pace/10)
	return p
}

// geometry is the shape of the frames of a format.
func (o *Options) geometry(f gpuring.Format) gpuring.Geometry {
	return gpuring.Geometry{Width: o.Width, Height: o.Height, Format: f, Slots: slots}
}

// plane is a frame as the kernels see it: rows of so many bytes.
func plane(g gpuring.Geometry) (rowBytes, rows int) {
	rows = g.Height
	if g.Format == gpuring.NV12 {
		rows = g.Height * 3 / 2
	}
	return g.FrameBytes() / rows, rows
}
