//go:build cuda && !gpu

package nvml_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/fault"
	"facetrack/internal/nvml"
)

// TestMain compiles a library with one GPU and lets Open find it. A process loads one library, so all tests share it.
func TestMain(m *testing.M) {
	if os.Getenv("NVML_TEST_CHILD") == "" {
		dir, err := os.MkdirTemp("", "facetrack-nvml-")
		if err != nil {
			panic(err)
		}
		library := filepath.Join(dir, "libfake.so")
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wno-stringop-truncation", "-o", library, "testdata/fake.c").CombinedOutput(); err != nil {
			panic(string(out))
		}
		_ = os.Setenv(nvml.LibraryVariable, library)
		code := m.Run()
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff"

func get[T any](t *testing.T, what string, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return v
}

func TestDevice(t *testing.T) {
	l := get(t, "open", nvml.Open)
	if v := get(t, "driver", l.Driver); v != "580.65.06" {
		t.Errorf("driver %s", v)
	}
	all := get(t, "devices", l.Devices)
	if len(all) != 1 || all[0].UUID != uuid || all[0].Name != "Fake H200" || all[0].PCI != "0001:19:02.0" {
		t.Fatalf("devices %+v", all)
	}
	d := get(t, "by UUID", func() (*nvml.Device, error) { return l.Device(uuid) })
	if m := get(t, "memory", d.Memory); m != (nvml.Memory{Total: 150 << 30, Used: 3 << 30}) {
		t.Errorf("memory %+v", m)
	}
	want := []nvml.Process{{PID: 100, Bytes: 500 << 20}, {PID: 101, Bytes: 20 << 20, MPS: true}, {PID: 102, Bytes: -1, MPS: true}}
	if p := get(t, "processes", d.Processes); !slices.Equal(p, want) {
		t.Errorf("processes %+v, want %+v", p, want)
	}
	if !get(t, "MIG", d.MIG) {
		t.Error("MIG is off")
	}
	if m := get(t, "compute mode", d.ComputeMode); m != nvml.ModeExclusiveProcess {
		t.Errorf("compute mode %d", m)
	}
	if v := get(t, "link", d.Link); v != (nvml.Link{Generation: 3, Width: 8, MaxGeneration: 5, MaxWidth: 16}) {
		t.Errorf("link %+v", v)
	}
	if v := get(t, "throughput", d.Throughput); v != (nvml.Throughput{RXKBps: 1000, TXKBps: 20}) {
		t.Errorf("throughput %+v", v)
	}
	if v := get(t, "traffic", d.Traffic); v != (nvml.Traffic{RX: 5000000000, TX: 77}) {
		t.Errorf("traffic %+v", v)
	}
	if v := get(t, "utilization", d.Utilization); v != (nvml.Utilization{GPU: 42, Memory: 7}) {
		t.Errorf("utilization %+v", v)
	}
	if v := get(t, "temperature", d.Temperature); v != 61 {
		t.Errorf("%d degrees", v)
	}
	if v := get(t, "power", d.Power); v != 123.456 {
		t.Errorf("%g W", v)
	}
	if _, err := l.Device("GPU-0"); !errors.Is(err, nvml.ErrNoSuchDevice) {
		t.Errorf("another UUID: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpensAreCounted(t *testing.T) {
	first, second := get(t, "open", nvml.Open), get(t, "open", nvml.Open)
	d := get(t, "device", func() (*nvml.Device, error) { return second.Device(uuid) })
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := first.Devices(); !errors.Is(err, nvml.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	get(t, "memory with one user left", d.Memory)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Memory(); !errors.Is(err, nvml.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestFaults(t *testing.T) {
	t.Cleanup(func() { fault.Plan("") })
	fault.Plan("nvmlInit=9")
	if _, err := nvml.Open(); err == nil || !strings.Contains(err.Error(), "nvmlInit") {
		t.Errorf("%v", err)
	}
	fault.Plan("nvmlDeviceGetFieldValues=13,nvmlDeviceGetMigMode=3")
	l := get(t, "open", nvml.Open)
	defer l.Close()
	d := get(t, "device", func() (*nvml.Device, error) { return l.Device(uuid) })
	if _, err := d.Traffic(); !errors.Is(err, nvml.ErrNotSupported) {
		t.Errorf("an old driver: %v", err)
	}
	if on := get(t, "MIG", d.MIG); on {
		t.Error("a GPU that knows no MIG has it on")
	}
}

// A program with this package starts and gives a reason where there is no library, or not the right one, also when the
// loader has to find every symbol at once.
func TestWithoutLibrary(t *testing.T) {
	if os.Getenv("NVML_TEST_CHILD") != "" {
		_, err := nvml.Open()
		if !errors.Is(err, nvml.ErrNoLibrary) {
			t.Errorf("%v, want ErrNoLibrary", err)
		}
		return
	}
	for _, library := range []string{"libnvidia-ml.so.none", "libc.so.6"} {
		child := exec.Command(os.Args[0], "-test.run=^TestWithoutLibrary$", "-test.v")
		child.Env = append(os.Environ(), "NVML_TEST_CHILD=1", "LD_BIND_NOW=1", nvml.LibraryVariable+"="+library)
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutLibrary") {
			t.Errorf("%s: %v\n%s", library, err, out)
		}
	}
}

// The program needs no library of NVIDIA and leaves no symbol of it undefined.
func TestLinkage(t *testing.T) {
	f, err := elf.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	if len(symbols) == 0 {
		t.Fatal("no imported symbols: this looks at the wrong place")
	}
	for _, name := range libraries {
		if strings.Contains(name, "nvidia") || strings.Contains(name, "cuda") {
			t.Errorf("needs %s", name)
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "nvml") {
			t.Errorf("%s is undefined: add it to nvml_calls.h", s.Name)
		}
	}
}
