//go:build e2e && gpu

package e2e

// On a machine with a GPU every rig uses it.
const (
	processLink = "cuda-ipc" // transport between processes
	threadLink  = "cuda"     // … and between the threads of one
)

// withGPU gives the rig's processes a GPU; here they have one.
func (r *rig) withGPU() *rig { return r }
