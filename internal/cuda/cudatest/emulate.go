//go:build cuda && !gpu

package cudatest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kernelsVariable = "FAKE_CUDA_KERNELS"

// Emulate lets the fake driver run the kernels in a folder of the repository, such as "internal/kernels/nn": their sources,
// compiled for the CPU. Child processes inherit it. With a GPU it does nothing.
func Emulate(t testing.TB, folders ...string) {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.SplitList(os.Getenv(kernelsVariable))
	for _, folder := range folders {
		library, err := emulated(root, filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(os.Getenv(kernelsVariable), library) {
			list = append(list, library)
		}
	}
	if err := os.Setenv(kernelsVariable, strings.Join(list, ":")); err != nil {
		t.Fatal(err)
	}
}

// repository is the folder of go.mod; tests run in their package's folder.
func repository() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(folder, "go.mod")); statErr == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			err = errors.New("kernels are emulated from their sources: run the test inside the repository")
		}
		folder = parent
	}
	return "", err
}

// emulated compiles a folder's kernels. Those that use CUDA beyond portable.cuh are left out: they have twins of their own.
func emulated(root, folder string) (string, error) {
	cache, err := ownFolder(os.TempDir(), "facetrack-fake-cuda")
	if err != nil {
		return "", err
	}
	kernels, err := portable(folder)
	if err != nil {
		return "", err
	}
	portableHeader := filepath.Join(root, "internal", "kernels", "portable")
	headers, err := filepath.Glob(filepath.Join(folder, "*.cuh"))
	if err != nil {
		return "", err
	}
	key, err := hash(append([]string{"emulated"}, contents(append(headers, append(kernels, filepath.Join(portableHeader, "portable.cuh"))...))...))
	if err != nil {
		return "", err
	}
	return place(cache, key, "kernels.so", func(work string) error {
		arguments := append(strings.Fields("-std=gnu++17 -O2 -fPIC -shared -pthread -Wall -Wextra -Werror -Wno-unknown-pragmas "+
			"-fvisibility=hidden -fno-exceptions -fno-rtti -nodefaultlibs"),
			"-I", filepath.Join(work, "src", "fake", "emulate"), "-I", portableHeader, "-I", folder, "-o", filepath.Join(work, "kernels.so"),
			filepath.Join(work, "src", "fake", "emulate", "emulate.cpp"), "-x", "c++")
		return gcc(append(append(arguments, kernels...), "-x", "none", "-lm", "-lc", "-lgcc"))
	})
}

func portable(folder string) (kernels []string, err error) {
	all, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return nil, err
	}
	for _, path := range all {
		text, err := os.ReadFile(path) // #nosec G304 -- a source of this repository
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "EMULATED(") {
			kernels = append(kernels, path)
		}
	}
	if len(kernels) == 0 {
		return nil, fmt.Errorf("no kernels to emulate in %s", folder)
	}
	return kernels, nil
}

// contents are the paths and texts of files; one that cannot be read counts as empty, the compiler says more.
func contents(paths []string) (out []string) {
	for _, path := range paths {
		text, _ := os.ReadFile(path) // #nosec G304 -- a source of this repository
		out = append(out, path, string(text))
	}
	return out
}
