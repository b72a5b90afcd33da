//go:build cuda && gpu

package gpu

import (
	"testing"
	"time"
)

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
	attempts     = 1               // at keeping to a time limit
	knownWithin  = 2 * time.Second // readers know of their writer's death
)

// driver is the environment of a child with a GPU.
func driver(*testing.T) []string { return nil }
