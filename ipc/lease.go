package ipc

import (
	"errors"

	"facetrack/gpuring"
)

// Lease is a frame's pixels, wherever they are, until Release.
type Lease interface {
	gpuring.Lease
	// Host returns the pixels in host memory, good until Release; a frame in device memory is downloaded first. ErrReleased
	// after Release, ErrClosed when the link was closed before the download. Any other error wraps gpuring.ErrDevice and
	// breaks the link: the same frame, leased again, comes over the next transport.
	Host() ([]byte, error)
}

// inHost is a lease whose view has the pixels in host memory.
type inHost struct{ gpuring.Lease }

func (h inHost) Host() ([]byte, error) {
	if err := h.Valid(); errors.Is(err, gpuring.ErrReleased) { // anything else shows at Release
		return nil, err
	}
	return h.View().Host, nil
}
