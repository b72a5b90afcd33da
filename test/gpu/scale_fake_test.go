//go:build cuda && !gpu

package gpu

import (
	"testing"
	"time"

	"facetrack/internal/cuda/cudatest"
)

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
	attempts     = 3                // at keeping to a time limit, because these machines have two cores, and others run beside
	knownWithin  = 10 * time.Second // readers know of their writer's death
)

// driver is the environment of a child with a GPU, besides what it sets in this process.
func driver(t *testing.T) []string { return []string{"FACETRACK_LIBCUDA=" + cudatest.Library(t)} }
