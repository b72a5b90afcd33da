//go:build e2e && !gpu

package e2e

import "facetrack/internal/cuda/cudatest"

// Without a GPU of its own a rig shares host memory.
const (
	processLink = "shm" // transport between processes
	threadLink  = "shm" // … and between the threads of one
)

// withGPU gives the rig's processes a GPU: a driver that works over shared memory takes the place of NVIDIA's.
func (r *rig) withGPU() *rig {
	r.t.Helper()
	r.env = append(r.env, "FACETRACK_LIBCUDA="+cudatest.Library(r.t))
	return r
}
