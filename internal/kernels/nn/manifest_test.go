package nn

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"facetrack/internal/kernels/kerneltest"
)

// The files travel inside the test program, which then runs anywhere.
//
//go:embed *.cu *.cuh *.ptx MANIFEST
var sources embed.FS

func TestPTXIsFresh(t *testing.T) { kerneltest.Fresh(t, sources) }

var emulated = regexp.MustCompile(`EMULATED\((\w+)\)`)

// Every kernel that the tests emulate is in the PTX, and no other.
func TestPTXLoadsEverywhere(t *testing.T) {
	wanted := map[string][]string{}
	names, err := fs.Glob(sources, "*.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range emulated.FindAllStringSubmatch(string(text), -1) {
			file := strings.TrimSuffix(name, path.Ext(name))
			wanted[file] = append(wanted[file], m[1])
		}
	}
	kerneltest.LoadsEverywhere(t, sources, wanted)
}
