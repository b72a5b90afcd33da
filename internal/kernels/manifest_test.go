package kernels

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
		"stamp_tiles": {"stamp_tiles"}, "check_tiles": {"check_tiles"}, "read_canary": {"read_canary"},
	})
}
