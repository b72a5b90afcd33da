package faces

import (
	"embed"
	"errors"
	"fmt"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/ptx"
)

//go:embed *.ptx
var files embed.FS

// ErrLaunch is wrapped by errors about numbers and addresses that no launch can have.
var ErrLaunch = errors.New("face kernels: bad launch")

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

const maxItems = 1<<16 - 1 // of a grid's second side

func checkItems(n int) error {
	if n < 1 || n > maxItems {
		return fmt.Errorf("%w: %d items", ErrLaunch, n)
	}
	return nil
}

// checkAligned refuses addresses that kernels cannot read 16 bytes at.
func checkAligned(addresses ...uint64) error {
	for _, a := range addresses {
		if a == 0 || a%16 != 0 {
			return fmt.Errorf("%w: address %#x, which must be a multiple of 16", ErrLaunch, a)
		}
	}
	return nil
}
