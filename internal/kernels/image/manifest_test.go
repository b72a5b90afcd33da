package image

import (
	"embed"
	"testing"

	"facetrack/internal/kernels/kerneltest"
)

// The files travel inside the test program, which then runs anywhere.
//
//go:embed *.cu *.cuh *.ptx MANIFEST
var sources embed.FS

func TestPTXIsFresh(t *testing.T) { kerneltest.Fresh(t, sources) }

func TestPTXLoadsEverywhere(t *testing.T) {
	kerneltest.LoadsEverywhere(t, sources, map[string][]string{
		"letterbox": {"letterbox_f32", "letterbox_f16"}, "crop": {"crop_f32", "crop_f16"}, "appearance": {"appearance"},
	})
}
