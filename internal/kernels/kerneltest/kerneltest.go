// Package kerneltest checks that embedded PTX is what its sources say and that old drivers load it.
package kerneltest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"facetrack/internal/kernels/portable"
	"facetrack/internal/kernels/ptx"
)

func read(t *testing.T, files fs.FS, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// names are the files with an extension.
func names(t *testing.T, files fs.FS, extension string) []string {
	t.Helper()
	found, err := fs.Glob(files, "*"+extension)
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s files: %v", extension, err)
	}
	return found
}

// Fresh expects a folder's MANIFEST, which is made together with the PTX, to fit its sources and its PTX: what differs means
// that "make kernels" was not run. Every source must have its PTX.
func Fresh(t *testing.T, files fs.FS) {
	t.Helper()
	hashes := map[string]string{}
	for line := range strings.Lines(string(read(t, files, "MANIFEST"))) {
		if hash, name, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			hashes[path.Base(name)] = hash
		}
	}
	texts := map[string][]byte{"portable.cuh": portable.Header}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); slices.Contains([]string{".cu", ".cuh", ".ptx"}, path.Ext(name)) {
			texts[name] = read(t, files, name)
		}
	}
	for name, text := range texts {
		sum := sha256.Sum256(text)
		if hashes[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what MANIFEST was made from: run make kernels", name)
		}
		delete(hashes, name)
	}
	for name := range hashes {
		t.Errorf("MANIFEST names %s, which is not here: run make kernels", name)
	}
	for _, source := range names(t, files, ".cu") {
		if texts[strings.TrimSuffix(source, ".cu")+".ptx"] == nil {
			t.Errorf("%s has no PTX: run make kernels", source)
		}
	}
}

var (
	isa    = regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)$`)
	target = regexp.MustCompile(`(?m)^\.target sm_(\d+)$`)
)

// LoadsEverywhere expects PTX that drivers from CUDA 11.8 on load, for GPUs from Turing on, with the kernels wanted of each file
// (without its extension), in any order.
func LoadsEverywhere(t *testing.T, files fs.FS, wanted map[string][]string) {
	t.Helper()
	for _, name := range names(t, files, ".ptx") {
		text := read(t, files, name)
		v, sm := isa.FindSubmatch(text), target.FindSubmatch(text)
		if v == nil || sm == nil {
			t.Fatalf("%s: version %q, target %q", name, v, sm)
		}
		if major, minor := number(t, v[1]), number(t, v[2]); major > 7 || major == 7 && minor > 8 {
			t.Errorf("%s is PTX ISA %d.%d, at most 7.8 is loaded by CUDA 11.8", name, major, minor)
		}
		if number(t, sm[1]) > 75 {
			t.Errorf("%s is for sm_%s, want sm_75 or lower", name, sm[1])
		}
		have, want := ptx.Entries(text), slices.Clone(wanted[strings.TrimSuffix(name, ".ptx")])
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s has the kernels %v, want %v", name, have, want)
		}
	}
	if !strings.HasPrefix(string(read(t, files, "MANIFEST")), "# nvcc 11.8.") {
		t.Error("MANIFEST does not name nvcc 11.8")
	}
}

func number(t *testing.T, s []byte) int {
	t.Helper()
	n, err := strconv.Atoi(string(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
