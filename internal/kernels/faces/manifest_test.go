package faces

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
		"decode_yunet": {"decode_yunet"}, "decode_blazeface": {"decode_blazeface"}, "nms": {"nms"}, "points": {"points"}, "collect": {"collect"},
	})
}
