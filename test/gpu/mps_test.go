//go:build cuda

package gpu

import "facetrack/internal/nvml"

// underMPS tells whether GPU work goes through NVIDIA's Multi-Process Service, and how that is known. There the death of a
// process with a kernel under way takes the contexts of all others along, a limit of the driver; one with copies under
// way does no harm.
func underMPS() (yes bool, why string) {
	if !onGPU {
		return false, "the imitated driver has no MPS"
	}
	m := nvml.FindMPS()
	return m.Running, m.Reason
}
