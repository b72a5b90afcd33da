//go:build cuda && gpu

package gpu

// Sizes for a GPU.
const (
	onGPU        = true
	tornFrames   = 1_000_000
	uploadFrames = 200_000
	tornRings    = 4
	writerKills  = 25
	largeWidth   = 3840
	largeHeight  = 2160
	soakKills    = 1000
	soakRigs     = 4
)
