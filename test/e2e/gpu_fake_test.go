//go:build e2e && !gpu

package e2e

import (
	"os"
	"time"

	"facetrack/internal/cuda/cudatest"
)

// Without a GPU of its own a rig shares host memory.
const (
	processLink = "shm" // transport between processes
	threadLink  = "shm" // … and between the threads of one
)

// attempts is how often a rig may run until it is not disturbed by a busy machine.
const attempts = 3

// backInFlow is how long a killed process may take until frames are through it again; the other tests of a machine of two
// cores run at the same time.
const backInFlow = 20 * time.Second

// withGPU gives the rig's processes a GPU: a driver that works over shared memory takes the place of NVIDIA's.
func (r *rig) withGPU() *rig {
	r.t.Helper()
	r.env = append(r.env, "FACETRACK_LIBCUDA="+cudatest.Library(r.t))
	return r
}

// canLoseTheGPU prepares what makes all processes of the rig lose their contexts.
func (r *rig) canLoseTheGPU() (lose func()) {
	r.t.Helper()
	sign := r.path("gpu-failed")
	r.env = append(r.env, "FAKE_CUDA_FAIL="+sign)
	return func() {
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}
