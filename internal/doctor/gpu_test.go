//go:build cuda && gpu

package doctor

import (
	"testing"
)

// A machine with a GPU passes every check, and both ways to wait work between two processes.
func TestRealGPU(t *testing.T) {
	r := examine(t, "", nil)
	for _, c := range r.Checks {
		t.Logf("%-8s %s: %s", c.Status, c.Name, c.Seen)
	}
	if r.Failed() || r.Transport != "cuda-ipc" || !r.RoundTrips[TripEvents].OK || !r.RoundTrips[TripMemOps].OK {
		t.Errorf("%+v", r)
	}
}

// Faults of the IPC calls strike with the real driver as well.
func TestRealGPUWithFaults(t *testing.T) {
	r := examine(t, "cuIpcOpenEventHandle=205", nil)
	if r.Failed() || r.Transport != "cuda-ipc" || r.RoundTrips[TripEvents].OK || !r.RoundTrips[TripMemOps].OK {
		t.Errorf("%+v", r)
	}
	if r = examine(t, "cuIpcOpenMemHandle=201", nil); !r.Failed() || r.Transport != "shm" {
		t.Errorf("%+v", r)
	}
}
