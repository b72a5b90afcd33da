package nn

import (
	"embed"
	"errors"
	"fmt"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/ptx"
)

//go:embed *.ptx
var files embed.FS

// ErrShape is the error of an operator that no kernel can take.
var ErrShape = errors.New("nn: no kernel takes this shape")

// Precision is the type of activations and matrix weights. Sums, bias, slopes and depthwise weights are float32 in either.
type Precision uint8

// The precisions.
const (
	F32 Precision = iota
	F16
)

// Bytes is the size of one element.
func (p Precision) Bytes() int { return 4 >> min(p, 1) }

func (p Precision) String() string { return [...]string{"f32", "f16"}[min(p, 1)] }

// Image is the shape of one item.
type Image struct{ H, W, C int }

// Len is the number of elements.
func (m Image) Len() int { return m.H * m.W * m.C }

func (m Image) String() string { return fmt.Sprintf("%d×%d×%d", m.H, m.W, m.C) }

// Activation is applied to a result before it is written.
type Activation uint8

// The activations.
const (
	None Activation = iota
	Relu
	Relu6
	PRelu // with a slope for each channel
	Logistic
)

// Set is the kernels, loaded on one device.
type Set struct {
	*ptx.Set
	shared int // bytes that a block of a chain can have
}

// Load compiles the kernels for the device of a context.
func Load(ctx *cuda.Context) (*Set, error) {
	s, err := ptx.Load(ctx, files)
	if err != nil {
		return nil, err
	}
	set := &Set{Set: s}
	if err := set.allowChains(ctx.Device().SharedMemory); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return set, nil
}

// kernelName is the name of the kernel for a precision that takes so many elements at once.
func kernelName(name string, p Precision, width int) string {
	return fmt.Sprintf("%s_%s_%d", name, p, width)
}

// launch queues a kernel by its name.
func (s *Set) launch(stream *cuda.Stream, name string, grid, block cuda.Dim, shared int, args ...any) error {
	f := s.Function(name)
	if f == nil {
		return fmt.Errorf("nn: no kernel %s", name)
	}
	return stream.Launch(f, grid, block, shared, args...)
}
