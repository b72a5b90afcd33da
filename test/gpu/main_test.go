//go:build cuda

// Package gpu proves the ring's invariants with real processes, device memory and kill -9, and wears a whole rig out with
// kills. With the tags cuda and gpu it runs on a GPU, at full scale, and fails where there is none; with the tag cuda
// alone it runs at a small scale on the imitated driver.
package gpu

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"facetrack/gpuring"
)

// The tests run real processes: this binary again, as a child that obeys orders.
const childVariable = "FACETRACK_GPU_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		obey()
		return
	}
	sweep(folderPrefix)
	sweep(soakPrefix)
	os.Exit(m.Run())
}

// setting is a number that the environment may replace.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return n
}

// folder is an empty folder in shared memory.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(gpuring.DefaultDir, fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// plane is a frame as the kernels see it: rows of so many bytes.
func plane(g gpuring.Geometry) (rowBytes, rows int) {
	rows = g.Height
	if g.Format == gpuring.NV12 {
		rows = g.Height * 3 / 2
	}
	return g.FrameBytes() / rows, rows
}
