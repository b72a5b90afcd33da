//go:build cuda && !gpu

package cudatest

import (
	"os"
	"testing"

	"facetrack/internal/cuda"
)

// Use opens the first GPU of the fake driver until the test ends. Child processes inherit the driver and its memory.
func Use(t testing.TB) *cuda.Context {
	t.Helper()
	if err := os.Setenv(libraryVariable, Library(t)); err != nil {
		t.Fatal(err)
	}
	return open(t)
}
