//go:build cuda && gpu

package media

// Sizes for a GPU.
const (
	onGPU       = true
	step        = 1 // of the frames of a recording
	batch       = 64
	soakSeconds = 60
	soakFaces   = 64
	soakSide    = 1920
)

var (
	publicDetectors = []string{"yunet-320", "yunet-640", "blazeface"}
	formats         = []string{"BGR", "NV12", "YUYV"}
)

// formatsOf are the pixel formats of a recording.
func formatsOf(int) []string { return formats }
