//go:build cuda

package cudatest

import (
	"testing"

	"facetrack/internal/cuda"
)

func open(t testing.TB) *cuda.Context {
	t.Helper()
	devices, err := cuda.Devices()
	if err != nil {
		t.Fatalf("no CUDA device to test with: %v", err)
	}
	if len(devices) == 0 {
		t.Fatal("no CUDA device to test with: the driver shows none")
	}
	ctx, err := cuda.Open(devices[0])
	if err != nil {
		t.Fatalf("device %d: %v", devices[0].Ordinal, err)
	}
	t.Cleanup(func() {
		if err := ctx.Close(); err != nil {
			t.Errorf("close device %d: %v", devices[0].Ordinal, err)
		}
	})
	return ctx
}
