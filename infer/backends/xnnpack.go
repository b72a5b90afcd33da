//go:build xnnpack

package backends

import (
	_ "facetrack/infer/xnnpack" // the "cpu" backend
)
