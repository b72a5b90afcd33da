package ipc

import (
	"encoding/base64"
	"fmt"
)

// Handle is an opaque CUDA IPC handle, of memory or of an event; in JSON it is base64.
type Handle [64]byte

// MarshalText implements encoding.TextMarshaler.
func (h Handle) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, h[:]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Handle) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("handle: %w: %d bytes in base64 expected", ErrInvalid, len(h))
	}
	copy(h[:], raw)
	return nil
}
