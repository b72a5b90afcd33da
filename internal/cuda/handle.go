package cuda

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Handle is an IPC handle of memory or of an event; in JSON it is base64.
type Handle [64]byte

var errHandle = errors.New("a CUDA IPC handle is 64 bytes in base64")

// MarshalText implements encoding.TextMarshaler.
func (h Handle) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, h[:]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler; h keeps its value on an error.
func (h *Handle) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", errHandle, err)
	}
	if len(raw) != len(h) {
		return fmt.Errorf("%w, this is %d", errHandle, len(raw))
	}
	copy(h[:], raw)
	return nil
}
