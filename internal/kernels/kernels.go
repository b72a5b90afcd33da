package kernels

import (
	"embed"
	"errors"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/ptx"
)

//go:embed *.ptx
var files embed.FS

// ErrShape is the error of a frame that no kernel can take.
var ErrShape = errors.New("kernels: a frame needs 1 to 2^31-1 bytes a row and 1 to 2097120 rows")

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

// Stamp queues the stamping of a frame in device memory.
func (s *Set) Stamp(stream *cuda.Stream, frame uint64, rowBytes, rows int, seq uint64) error {
	if !fits(rowBytes, rows) {
		return ErrShape
	}
	return stream.Launch(s.Function("stamp_tiles"), grid(rowBytes, rows), block, 0, frame, uint32(rowBytes), uint32(rows), seq)
}

// Check queues the check of a frame in device memory. Each of the passes adds its number of wrong tiles to the 32-bit word
// at counter; pauseNS nanoseconds lie between two passes, at least for each block of threads.
func (s *Set) Check(stream *cuda.Stream, frame uint64, rowBytes, rows int, seq, counter uint64, passes, pauseNS int) error {
	if !fits(rowBytes, rows) || passes < 0 || pauseNS < 0 {
		return ErrShape
	}
	return stream.Launch(s.Function("check_tiles"), grid(rowBytes, rows), block, 0,
		frame, uint32(rowBytes), uint32(rows), seq, counter, uint32(passes), uint32(pauseNS))
}

// ReadCanary queues a copy of the 64 bytes at cell to out, made by loads and stores of the GPU's processors.
func (s *Set) ReadCanary(stream *cuda.Stream, cell, out uint64) error {
	return stream.Launch(s.Function("read_canary"), cuda.Dim{X: 1}, cuda.Dim{X: 8}, 0, cell, out)
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
