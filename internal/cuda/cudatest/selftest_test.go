package cudatest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// selftest compiles the driver's own test program, which links to the driver.
func selftest(t *testing.T, library string) string {
	t.Helper()
	program, err := compile(filepath.Dir(filepath.Dir(library)), "selftest", []string{"-std=gnu11", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror"},
		[]string{"selftest.c", "selftest_gpus.c", "selftest_ipc.c", "selftest_threads.c"}, library)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func run(t *testing.T, program, part string, environment ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, part)
	c.Env = append(os.Environ(), environment...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", part, err, out)
	}
}

func TestFakeDriver(t *testing.T) {
	t.Setenv(libraryVariable, "")
	program := selftest(t, Library(t))
	for _, part := range []string{"alone", "failure", "gpus", "threads", "two"} {
		t.Run(part, func(t *testing.T) { run(t, program, part, folderVariable+"="+t.TempDir()) })
	}
}

// What the fake declares is what the headers declare, of the project and of a toolkit where one is installed.
func TestFakeHasTheDriversInterface(t *testing.T) {
	for _, include := range []string{filepath.Join("..", "include"), "/usr/include", "/usr/local/cuda/include"} {
		if _, err := os.Stat(filepath.Join(include, "cuda.h")); err != nil {
			t.Logf("NOT COMPARED: no cuda.h in %s", include)
			continue
		}
		names, err := library()
		if err != nil {
			t.Fatal(err)
		}
		arguments := append(flags[:len(flags):len(flags)], "-fsyntax-only", "-DFAKE_CUDA_HEADER", "-I", include)
		for _, name := range names {
			arguments = append(arguments, filepath.Join("fake", name))
		}
		if err := gcc(arguments); err != nil {
			t.Error(err)
		}
	}
}
