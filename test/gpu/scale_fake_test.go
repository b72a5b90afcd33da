//go:build cuda && !gpu

package gpu

// Sizes for the imitated driver, whose GPU is a thread or two of this machine.
const (
	onGPU        = false
	tornFrames   = 600
	uploadFrames = 300
	tornRings    = 1
	writerKills  = 2
	largeWidth   = 960
	largeHeight  = 540
	soakKills    = 5
	soakRigs     = 1
)
