package cudatest

import (
	"embed"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

//go:embed fake/*.c fake/*.h fake/emulate
var sources embed.FS

// Variables of the environment that child processes inherit.
const (
	libraryVariable = "FACETRACK_LIBCUDA"
	folderVariable  = "FAKE_CUDA_DIR"
)

var flags = strings.Fields("-std=gnu11 -O2 -fPIC -pthread -Wall -Wextra -Werror -fvisibility=hidden")

var build = sync.OnceValues(func() (string, error) {
	folder, err := ownFolder(os.TempDir(), "facetrack-fake-cuda")
	if err != nil {
		return "", err
	}
	parts, err := library()
	if err != nil {
		return "", err
	}
	return compile(folder, "libcuda.so.1", append(flags, "-shared", "-Wl,-Bsymbolic"), parts, "-ldl")
})

var begin = sync.OnceValue(func() error {
	if os.Getenv(folderVariable) != "" {
		return nil
	}
	folder, err := newTree()
	if err != nil {
		return err
	}
	return os.Setenv(folderVariable, folder)
})

// Library gives the path of the fake driver, which is compiled when it is needed first, for a child process that is to
// find it in FACETRACK_LIBCUDA. The child shares its fake GPU with this process through FAKE_CUDA_DIR, which Library sets.
func Library(t testing.TB) string {
	t.Helper()
	path := os.Getenv(libraryVariable)
	if path == "" {
		var err error
		if path, err = build(); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweepDead(os.Getenv(folderVariable)) })
	return path
}

// library names the sources of the driver, without those of its self-test.
func library() ([]string, error) {
	entries, err := sources.ReadDir("fake")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".c" && !strings.HasPrefix(e.Name(), "selftest") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
