//go:build !cuda

package ipc

import (
	"testing"

	"facetrack/internal/cuda"
)

func TestBuiltWithoutCUDA(t *testing.T) {
	l, f := startPair(t, pretend().wrap, LinkOptions{})
	if got := attempt(t, l, f); got != cuda.ErrNotBuilt.Error() {
		t.Error(got)
	}
}
