package faces

import (
	"fmt"
	"math"

	"facetrack/internal/cuda"
)

// Candidates is device memory between a decoding kernel and Reduce, for a number of frames.
type Candidates struct {
	address uint64
	priors  int // of one frame
	frames  int
}

// BlazeFacePriors are the priors of one frame.
const BlazeFacePriors = 896

// YuNetPriors are those of an input of size × size pixels.
func YuNetPriors(size int) int {
	sum := 0
	for _, stride := range []int{8, 16, 32} {
		sum += size / stride * (size / stride)
	}
	return sum
}

const candidateValues = 16 // VALUES of candidate.cuh

// CandidateBytes is how much memory the candidates of so many frames need.
func CandidateBytes(priors, frames int) int64 {
	return int64(frames) * int64(priors*8*(1+candidateValues)+(priors+31)/32*4)
}

// CandidatesAt uses memory of CandidateBytes at a multiple of 16.
func CandidatesAt(address uint64, priors, frames int) Candidates {
	return Candidates{address: address, priors: priors, frames: frames}
}

func (c Candidates) check(frames int) error {
	if frames > c.frames || c.priors < 1 || c.priors > 1<<24 {
		return fmt.Errorf("%w: %d frames with memory for %d of %d priors", ErrLaunch, frames, c.frames, c.priors)
	}
	return errOr(checkItems(frames), checkAligned(c.address))
}

func errOr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// addresses of the values, the scores and the flags.
func (c Candidates) values() uint64 { return c.address }
func (c Candidates) scores() uint64 { return c.address + uint64(c.frames*c.priors*candidateValues*8) }
func (c Candidates) flags() uint64  { return c.scores() + uint64(c.frames*c.priors*8) }

// YuNet is where a YuNet's outputs lie, float32, those at strides 8, 16 and 32.
type YuNet struct {
	Size                  int // of the input
	Cls, Obj, Box, Points [3]uint64
}

// DecodeYuNet queues the decoding of a YuNet's outputs for so many frames.
func (s *Set) DecodeYuNet(stream *cuda.Stream, y YuNet, threshold float64, to Candidates, frames int) error {
	if y.Size < 32 || to.priors != YuNetPriors(y.Size) {
		return fmt.Errorf("%w: memory for %d priors, the input of %d pixels has %d", ErrLaunch, to.priors, y.Size, YuNetPriors(y.Size))
	}
	if err := errOr(to.check(frames), checkAligned(y.Cls[:]...), checkAligned(y.Obj[:]...), checkAligned(y.Box[:]...), checkAligned(y.Points[:]...)); err != nil {
		return err
	}
	var args []any
	for i := range 3 {
		args = append(args, y.Cls[i], y.Obj[i], y.Box[i], y.Points[i])
	}
	args = append(args, uint32(y.Size), float32(threshold*threshold), to.scores(), to.values(), to.flags(), uint32(to.priors))
	return stream.Launch(s.Function("decode_yunet"), cuda.Dim{X: (to.priors + 255) / 256, Y: frames}, cuda.Dim{X: 256}, 0, args...)
}

// DecodeBlazeFace queues the decoding of the short-range model's outputs, float32, for so many frames.
func (s *Set) DecodeBlazeFace(stream *cuda.Stream, boxes, classes uint64, threshold float64, to Candidates, frames int) error {
	if to.priors != BlazeFacePriors {
		return fmt.Errorf("%w: memory for %d priors, BlazeFace has %d", ErrLaunch, to.priors, BlazeFacePriors)
	}
	if err := errOr(to.check(frames), checkAligned(boxes, classes)); err != nil {
		return err
	}
	return stream.Launch(s.Function("decode_blazeface"), cuda.Dim{X: (BlazeFacePriors + 127) / 128, Y: frames}, cuda.Dim{X: 128}, 0,
		boxes, classes, math.Float64bits(threshold), to.scores(), to.values(), to.flags(), uint32(to.priors))
}
