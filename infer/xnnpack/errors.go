//go:build xnnpack

package xnnpack

// #include <xnnpack.h>
import "C"

import (
	"errors"
	"fmt"
)

// ErrUnsupported says that this backend cannot run a node of the graph; the reference backend may.
var ErrUnsupported = errors.New("xnnpack: unsupported")

// ErrStatus says that XNNPACK refused or failed; the message names the operator and the status.
var ErrStatus = errors.New("xnnpack: call failed")

var statusNames = map[C.enum_xnn_status]string{
	C.xnn_status_uninitialized:         "uninitialized",
	C.xnn_status_invalid_parameter:     "invalid parameter",
	C.xnn_status_invalid_state:         "invalid state",
	C.xnn_status_unsupported_parameter: "unsupported parameter",
	C.xnn_status_unsupported_hardware:  "unsupported hardware",
	C.xnn_status_out_of_memory:         "out of memory",
}

// check wraps a status; what names the operator or the call.
func check(status C.enum_xnn_status, what string) error {
	if status == C.xnn_status_success {
		return nil
	}
	name, ok := statusNames[status]
	if !ok {
		name = "unknown"
	}
	return fmt.Errorf("%w: %s: status %d (%s)", ErrStatus, what, int(status), name)
}
