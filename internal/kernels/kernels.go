package kernels

import (
	"embed"
	"errors"
	"fmt"

	"facetrack/internal/cuda"
)

//go:embed *.ptx
var ptx embed.FS

// names are the kernels; each is a file of its name.
var names = []string{"stamp_tiles", "check_tiles", "read_canary"}

// ErrShape is the error of a frame that no kernel can take.
var ErrShape = errors.New("kernels: a frame needs 1 to 2^31-1 bytes a row and 1 to 2097120 rows")

// Set is the kernels, loaded on one device.
type Set struct {
	modules   []*cuda.Module
	functions map[string]*cuda.Function
}

// Load compiles the kernels for the device of a context.
func Load(ctx *cuda.Context) (*Set, error) {
	s := &Set{functions: map[string]*cuda.Function{}}
	for _, name := range names {
		if err := s.load(ctx, name); err != nil {
			return nil, errors.Join(fmt.Errorf("kernel %s: %w", name, err), s.Close())
		}
	}
	return s, nil
}

func (s *Set) load(ctx *cuda.Context, name string) error {
	text, err := ptx.ReadFile(name + ".ptx")
	if err != nil {
		return err
	}
	m, err := ctx.LoadModule(text)
	if err != nil {
		return err
	}
	s.modules = append(s.modules, m)
	s.functions[name], err = m.Function(name)
	return err
}

// Close unloads the kernels; work that was queued before must have ended.
func (s *Set) Close() error {
	var all []error
	for _, m := range s.modules {
		all = append(all, m.Close())
	}
	s.modules = nil
	return errors.Join(all...)
}

// Stamp queues the stamping of a frame in device memory.
func (s *Set) Stamp(stream *cuda.Stream, frame uint64, rowBytes, rows int, seq uint64) error {
	if !fits(rowBytes, rows) {
		return ErrShape
	}
	return stream.Launch(s.functions["stamp_tiles"], grid(rowBytes, rows), block, 0, frame, uint32(rowBytes), uint32(rows), seq)
}

// Check queues the check of a frame in device memory. Each of the passes adds its number of wrong tiles to the 32-bit word
// at counter; pauseNS nanoseconds lie between two passes, at least for each block of threads.
func (s *Set) Check(stream *cuda.Stream, frame uint64, rowBytes, rows int, seq, counter uint64, passes, pauseNS int) error {
	if !fits(rowBytes, rows) || passes < 0 || pauseNS < 0 {
		return ErrShape
	}
	return stream.Launch(s.functions["check_tiles"], grid(rowBytes, rows), block, 0,
		frame, uint32(rowBytes), uint32(rows), seq, counter, uint32(passes), uint32(pauseNS))
}

// ReadCanary queues a copy of the 64 bytes at cell to out, made by loads and stores of the GPU's processors.
func (s *Set) ReadCanary(stream *cuda.Stream, cell, out uint64) error {
	return stream.Launch(s.functions["read_canary"], cuda.Dim{X: 1}, cuda.Dim{X: 8}, 0, cell, out)
}

// block covers 16 tiles side by side: 32 threads with 16 bytes each, in 8 rows at a time.
var block = cuda.Dim{X: 32, Y: 8}

const blockBytes = 32 * 16

func grid(rowBytes, rows int) cuda.Dim {
	return cuda.Dim{X: (rowBytes + blockBytes - 1) / blockBytes, Y: (rows + Tile - 1) / Tile}
}

func fits(rowBytes, rows int) bool {
	return rowBytes > 0 && rowBytes < 1<<31 && rows > 0 && rows <= 65535*Tile
}
