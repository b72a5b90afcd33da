//go:build cuda && !gpu

package media

// Sizes for the imitated driver, whose kernels are a thread or two of this machine.
const (
	onGPU       = false
	step        = 100 // of the frames of a recording
	batch       = 4
	soakSeconds = 2
	soakFaces   = 3
	soakSide    = 320
)

var (
	publicDetectors = []string{"yunet-320", "blazeface"}
	formats         = []string{"BGR", "NV12", "YUYV"}
)

// formatsOf are the pixel formats of recording i.
func formatsOf(i int) []string { return formats[i%len(formats):][:1] }
