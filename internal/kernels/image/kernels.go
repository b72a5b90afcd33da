package image

import (
	"embed"
	"errors"
	"fmt"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/ptx"
	"facetrack/vision"
)

//go:embed *.ptx
var files embed.FS

// ErrLaunch is wrapped by errors about numbers that no launch can have.
var ErrLaunch = errors.New("image kernels: bad launch")

// Set is the kernels, loaded on one device.
type Set struct{ *ptx.Set }

// Load compiles the kernels for the device of a context.
func Load(ctx *cuda.Context) (*Set, error) {
	s, err := ptx.Load(ctx, files)
	if err != nil {
		return nil, err
	}
	return &Set{s}, nil
}

// Target is where images for a network go: Size × Size × 3 values each, one image after the other.
type Target struct {
	Address uint64
	Size    int
	Half    bool // half precision, else float32
}

const (
	maxItems = 1<<16 - 1 // of a grid's second and third side
	maxSize  = 1 << 15   // as in package vision
)

func (t Target) check(n int) error {
	if n < 1 || n > maxItems || t.Size < 1 || t.Size > maxSize {
		return fmt.Errorf("%w: %d images of %d pixels", ErrLaunch, n, t.Size)
	}
	return nil
}

func (t Target) kernel(name string) string {
	if t.Half {
		return name + "_f16"
	}
	return name + "_f32"
}

// Letterbox queues the fitting of n frames into the target, each as its item says (Letterbox.Append), which was planned for
// inputs of the target's size.
func (s *Set) Letterbox(stream *cuda.Stream, items uint64, n int, norm vision.Normalization, to Target) error {
	if err := to.check(n); err != nil {
		return err
	}
	return stream.Launch(s.Function(to.kernel("letterbox")), cuda.Dim{X: to.Size, Y: n}, cuda.Dim{X: 256}, 0,
		append([]any{items, to.Address, uint32(to.Size)}, arguments(norm)...)...)
}

// Crop queues the cutting of n regions (AppendRegion, for inputs of the target's size).
func (s *Set) Crop(stream *cuda.Stream, regions uint64, n int, norm vision.Normalization, to Target) error {
	if err := to.check(n); err != nil {
		return err
	}
	grid := cuda.Dim{X: (to.Size + 31) / 32, Y: (to.Size + 7) / 8, Z: n}
	return stream.Launch(s.Function(to.kernel("crop")), grid, cuda.Dim{X: 32, Y: 8}, 0,
		append([]any{regions, to.Address, uint32(to.Size)}, arguments(norm)...)...)
}

// Appearance queues the appearance descriptors of n faces: vision.AppearanceSize float32 values each, outBytes from one face
// to the next, all zero where the place is not valid. The frames are those of the regions in which the faces were found, the places
// what faces.Points made of them.
func (s *Set) Appearance(stream *cuda.Stream, regions, places uint64, n int, out uint64, outBytes int) error {
	if n < 1 || n > maxItems || outBytes < 4*vision.AppearanceSize || outBytes%4 != 0 {
		return fmt.Errorf("%w: %d descriptors, one every %d bytes", ErrLaunch, n, outBytes)
	}
	return stream.Launch(s.Function("appearance"), cuda.Dim{X: n}, cuda.Dim{X: 640}, 0,
		append([]any{regions, uint32(RegionBytes), places, out, uint32(outBytes)}, arguments(vision.RGBUnit)...)...)
}

// arguments are the kernels' parameters of a normalisation.
func arguments(n vision.Normalization) []any {
	f := n.Factors()
	blue := uint32(0)
	if n.Blue {
		blue = 1
	}
	return []any{f.Scale, f.Bias, f.Low, f.High, f.Luma, f.First, f.Last, f.GreenCb, f.GreenCr, blue}
}
