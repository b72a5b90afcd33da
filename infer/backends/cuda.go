//go:build cuda

package backends

import (
	_ "facetrack/infer/cuda" // the "cuda" backend
)
