package kernels

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The files travel inside the test program, which then runs anywhere.
//
//go:embed *.cu *.cuh *.ptx MANIFEST
var files embed.FS

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// MANIFEST is made together with the PTX: a source or PTX that differs from it means that "make kernels" was not run.
func TestPTXIsFresh(t *testing.T) {
	hashes := map[string]string{}
	for line := range strings.Lines(read(t, "MANIFEST")) {
		if hash, name, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			hashes[name] = hash
		}
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if name == "MANIFEST" {
			continue
		}
		sum := sha256.Sum256([]byte(read(t, name)))
		if hashes[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what MANIFEST was made from: run make kernels", name)
		}
		delete(hashes, name)
	}
	for name := range hashes {
		t.Errorf("MANIFEST names %s, which is not here: run make kernels", name)
	}
}

var (
	isa     = regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)$`)
	target  = regexp.MustCompile(`(?m)^\.target sm_(\d+)$`)
	visible = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)
)

// Drivers from CUDA 11.8 on load the PTX, for GPUs from Turing on; each file has the kernel of its name and no other.
func TestPTXLoadsEverywhere(t *testing.T) {
	for _, name := range names {
		text := read(t, name+".ptx")
		v, sm, entry := isa.FindStringSubmatch(text), target.FindStringSubmatch(text), visible.FindAllStringSubmatch(text, -1)
		if v == nil || sm == nil || len(entry) != 1 || entry[0][1] != name {
			t.Fatalf("%s.ptx: version %v, target %v, kernels %v", name, v, sm, entry)
		}
		if major, minor := number(t, v[1]), number(t, v[2]); major > 7 || major == 7 && minor > 8 {
			t.Errorf("%s.ptx is PTX ISA %d.%d, at most 7.8 is loaded by CUDA 11.8", name, major, minor)
		}
		if number(t, sm[1]) > 75 {
			t.Errorf("%s.ptx is for sm_%s, want sm_75 or lower", name, sm[1])
		}
	}
	if !strings.HasPrefix(read(t, "MANIFEST"), "# nvcc 11.8.") {
		t.Error("MANIFEST does not name nvcc 11.8")
	}
}

// Every source is a kernel that is loaded.
func TestEverySourceIsAKernel(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	sources := 0
	for _, e := range entries {
		if path.Ext(e.Name()) == ".cu" {
			sources++
		}
	}
	if sources != len(names) {
		t.Errorf("%d sources, %d kernels", sources, len(names))
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
