//go:build cuda

package detect

import (
	"testing"

	"facetrack/internal/stage/stagetest"
	"facetrack/internal/stage/workers"
)

// On a GPU the thresholds are part of what was captured: other detectors take over.
func TestThresholdsChangeBetweenFramesOnTheGPU(t *testing.T) {
	r := newGPURig(t, "synthetic:faces=2,seed=4,format=NV12", 8)
	health := workers.NewHealth(stagetest.Quiet)
	d, l := changeable(t, r, func(d *detector) ([]looker, error) { return d.openGPU(health) })
	checkThresholds(t, r, d, l)
}
