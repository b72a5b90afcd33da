//go:build !cuda

package cudatest

import (
	"testing"

	"facetrack/internal/cuda"
)

// Use skips the test: this build has no CUDA.
func Use(t testing.TB) *cuda.Context {
	t.Helper()
	t.Skip("SKIPPED: built without CUDA; run go test -tags cuda (a GPU is not needed)")
	return nil
}
