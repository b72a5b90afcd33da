//go:build cuda

package cuda

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/fault"
)

const childVariable = "CUDA_TEST_CHILD"

// TestMain is also the child process that tries the driver that its environment names.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	err := Init()
	version, _ := DriverVersion()
	_, devicesErr := Devices()
	_, openErr := Open(Device{})
	fmt.Printf("init=%v\nagain=%v\nabsent=%v\nversion=%d\ndevices=%v\nopen=%v\n", err, errors.Is(Init(), err), errors.Is(err, ErrNoDriver), version, devicesErr, openErr)
}

func child(t *testing.T, environment ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(environment, childVariable+"=1", "GORACE=atexit_sleep_ms=0")...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("the program does not start: %v\n%s", err, out)
	}
	return string(out)
}

// library compiles a driver that has these functions.
func library(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	c, so := filepath.Join(dir, "driver.c"), filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", so, c).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return so
}

func TestNothingOfNVIDIAIsLinked(t *testing.T) {
	program, err := elf.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	needed, err := program.ImportedLibraries()
	if err != nil || !slices.ContainsFunc(needed, func(l string) bool { return strings.HasPrefix(l, "libc.") }) {
		t.Fatalf("%v %v, want the C library at least", needed, err)
	}
	for _, l := range needed {
		if strings.Contains(l, "cuda") || strings.Contains(l, "nvidia") {
			t.Errorf("the program needs %s to start", l)
		}
	}
}

func TestMachinesWithoutAWorkingDriver(t *testing.T) {
	const good = "int cuInit(unsigned f) { return 0; }\n"
	const version = "int cuDriverGetVersion(int *v) { *v = 12040; return 0; }\n"
	cases := map[string]struct {
		library string
		want    []string
	}{
		"no driver": {"/nowhere/libcuda.so.1", []string{
			"init=no NVIDIA driver", "/nowhere/libcuda.so.1: cannot open", "absent=true", "again=true", "version=0", "devices=no NVIDIA driver", "open=no NVIDIA driver"}},
		"no library of a driver": {library(t, "int other;"), []string{"has no cuInit", "absent=true"}},
		"every device hidden": {library(t, "int cuInit(unsigned f) { return 100; }\n"+version), []string{
			"init=cuInit: CUDA_ERROR_NO_DEVICE (100): no GPU is visible", "absent=false", "again=true", "version=12040", "devices=cuInit: CUDA_ERROR_NO_DEVICE"}},
		"an error without a name": {library(t, "int cuInit(unsigned f) { return 4711; }"), []string{"(4711)"}},
		"the driver names its error": {library(t, `int cuInit(unsigned f) { return 4711; }
			int cuGetErrorName(int e, const char **n) { *n = e == 4711 ? "CUDA_ERROR_OF_TOMORROW" : 0; return 0; }`), []string{"CUDA_ERROR_OF_TOMORROW (4711)"}},
		"a driver that lacks calls": {library(t, good+version+"int cuDeviceGetCount(int *n) { *n = 1; return 0; }"), []string{
			"init=<nil>", "version=12040", "devices=CUDA device 0: cuDeviceGet: CUDA_ERROR_NOT_SUPPORTED (801)", "open=cuDeviceGet: CUDA_ERROR_NOT_SUPPORTED"}},
	}
	for name, c := range cases {
		out := child(t, LibraryVariable+"="+c.library)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %s is missing in\n%s", name, want, out)
			}
		}
	}
	planned := child(t, LibraryVariable+"="+library(t, good), fault.Variable+"=cuInit=803")
	if !strings.Contains(planned, "init=cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)") {
		t.Errorf("cuInit is planned to fail:\n%s", planned)
	}
}

// The program starts without touching the driver: only Init loads it.
func TestNothingIsLoadedBeforeInit(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "loaded")
	so := library(t, `#include <stdio.h>
		#include <stdlib.h>
		__attribute__((constructor)) static void loaded(void) { fclose(fopen(getenv("CUDA_TEST_MARK"), "w")); }
		int cuInit(unsigned f) { return 0; }`)
	for _, c := range []struct {
		arguments []string
		child     string
		loads     bool
	}{{[]string{"-test.run=^$"}, "", false}, {nil, "1", true}} {
		p := exec.Command(os.Args[0], c.arguments...)
		p.Env = append(os.Environ(), LibraryVariable+"="+so, "CUDA_TEST_MARK="+mark, childVariable+"="+c.child, "GORACE=atexit_sleep_ms=0")
		if out, err := p.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(mark); (err == nil) != c.loads {
			t.Errorf("with Init %v: the driver's library was loaded: %v", c.loads, err == nil)
		}
	}
}
