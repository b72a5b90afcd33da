//go:build cuda && gpu

package cudatest

import (
	"testing"

	"facetrack/internal/cuda"
)

// Use opens the first GPU of this machine until the test ends. A machine without one fails the test.
func Use(t testing.TB) *cuda.Context {
	t.Helper()
	return open(t)
}
