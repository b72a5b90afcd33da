package ipc

import (
	"errors"
	"fmt"

	"facetrack/gpuring"
)

// Errors of a link.
var (
	// ErrNoCapture: nobody answers for the camera. Capture is not running, or not for this rig and camera.
	ErrNoCapture = errors.New("no capture process answers for the camera")
	// ErrAttach: capture answers, but no transport works; the error lists why.
	ErrAttach = errors.New("cannot attach to the camera's ring")
	// ErrOtherRing: the frame is of a ring that is not the camera's any more, and that this link is not attached to. It is
	// gpuring.ErrStale as well.
	ErrOtherRing = fmt.Errorf("%w: of another ring", gpuring.ErrStale)
	// errUnknownSession: capture has forgotten this link, which was silent for too long or is new to it.
	errUnknownSession = fmt.Errorf("%w: capture does not know this session", gpuring.ErrRevoked)
	errRefused        = errors.New("capture refuses")
	errLinkClosed     = fmt.Errorf("%w: this link was closed", gpuring.ErrClosed)
)

// refusals are the codes that capture answers with instead of pixels or a description.
var refusals = []struct {
	code string
	err  error
}{
	{"stale", gpuring.ErrStale},
	{"closed", gpuring.ErrClosed},
	{"revoked", gpuring.ErrRevoked},
	{"readers-full", gpuring.ErrReadersFull},
}

// codeOf returns the code for an error, "refused" for one that has none.
func codeOf(err error) string {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.code
		}
	}
	return "refused"
}

// refusal makes the error of a code again.
func refusal(code, text string) error {
	for _, r := range refusals {
		if r.code == code {
			return fmt.Errorf("%w: capture says: %.200s", r.err, text)
		}
	}
	return fmt.Errorf("%w: %.200s", errRefused, text)
}
