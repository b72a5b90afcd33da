package faces

import (
	"encoding/binary"
	"fmt"
	"math"

	"facetrack/internal/cuda"
	"facetrack/vision"
)

// MostCandidates is how many candidates of a frame are looked at: the best ones, at equal scores those of lower index.
const MostCandidates = 1024

// Reduction is how candidates become faces.
type Reduction struct {
	Merge     bool    // a face is the mean of the candidates it covers (BlazeFace), else the best one (YuNet)
	KeyPoints int     // of a face: 6 (BlazeFace), 5 (YuNet)
	IoU       float64 // above which two boxes are one face
	MaxFaces  int     // of a frame
}

const headWords = 4 // of a record: faces, whether a value was not finite, candidates above the threshold, nothing

func (r Reduction) faceWords() int { return 5 + 2*r.KeyPoints }

// RecordBytes is the size of a frame's record, a multiple of 16.
func (r Reduction) RecordBytes() int { return (4*(headWords+r.MaxFaces*r.faceWords()) + 15) / 16 * 16 }

// Reduce queues the reduction of so many frames' candidates to one record each. Of each frame a vision.Mapping lies in device
// memory (image.LetterboxMapping), mappingBytes from one to the next.
func (s *Set) Reduce(stream *cuda.Stream, r Reduction, from Candidates, mappings uint64, mappingBytes int, records uint64, frames int) error {
	if r.KeyPoints < 0 || r.KeyPoints > 6 || r.MaxFaces < 1 || r.MaxFaces > MostCandidates || mappings == 0 || mappings%8 != 0 || mappingBytes%8 != 0 {
		return fmt.Errorf("%w: %+v, mappings at %#x, one every %d bytes", ErrLaunch, r, mappings, mappingBytes)
	}
	if err := errOr(from.check(frames), checkAligned(records)); err != nil {
		return err
	}
	merge := uint32(0)
	if r.Merge {
		merge = 1
	}
	return stream.Launch(s.Function("nms"), cuda.Dim{X: frames}, cuda.Dim{X: MostCandidates}, 0,
		from.scores(), from.values(), from.flags(), uint32(from.priors), merge, uint32(4+2*r.KeyPoints), uint32(r.MaxFaces),
		math.Float64bits(r.IoU), mappings, uint32(mappingBytes), records, uint32(r.RecordBytes()))
}

// Parse reads a frame's record: its faces, best first, and how many candidates there were. An error wraps vision.ErrNonFinite.
func (r Reduction) Parse(record []byte) (found []vision.Face, candidates int, err error) {
	n, candidates := min(word(record, 0), r.MaxFaces), word(record, 2)
	if word(record, 1) != 0 {
		return nil, candidates, fmt.Errorf("%w: face detector", vision.ErrNonFinite)
	}
	found = make([]vision.Face, n)
	for i := range found {
		at := headWords + i*r.faceWords()
		f := vision.Face{Score: value(record, at+4), KeyPoints: make([][2]float64, r.KeyPoints)}
		for k := range f.Box {
			f.Box[k] = value(record, at+k)
		}
		for k := range f.KeyPoints {
			f.KeyPoints[k] = [2]float64{value(record, at+5+2*k), value(record, at+6+2*k)}
		}
		found[i] = f
	}
	return found, candidates, nil
}

// word and value are a record's word i.
func word(record []byte, i int) int { return int(binary.LittleEndian.Uint32(record[4*i:])) }

func value(record []byte, i int) float64 { return number(record[4*i:]) }

// number is the float that bytes begin with.
func number(bytes []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
}
