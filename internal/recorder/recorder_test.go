package recorder

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLinesReachTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	r, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`{"a":1}`, `{"a":2}`} {
		if err := r.Line([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "{\"a\":1}\n{\"a\":2}\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestExistingFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Create over an existing file: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "precious" {
		t.Errorf("file holds %q", got)
	}
}

// The child records under a file size limit, which the kernel enforces as a full disk would.
func TestFullDiskKeepsWholeLines(t *testing.T) {
	if path := os.Getenv("FACETRACK_TEST_RECORD"); path != "" {
		recordUntilFull(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskKeepsWholeLines$") //nolint:gosec // this test binary
	cmd.Env = append(os.Environ(), "FACETRACK_TEST_RECORD="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || got[len(got)-1] != '\n' || len(got) > limitBytes {
		t.Fatalf("file of %d bytes does not end with a whole line", len(got))
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n")) {
		if !bytes.Equal(line, testLine) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

const limitBytes = 600_001

var testLine = bytes.Repeat([]byte("x"), 999)

func recordUntilFull(t *testing.T, path string) {
	limit := syscall.Rlimit{Cur: limitBytes, Max: limitBytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	r, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if err = r.Line(testLine); err != nil {
			break
		}
	}
	lines, size := r.Lines()
	if !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "600 lines are safe") {
		t.Errorf("error is %v", err)
	}
	if lines != 600 || size != 600_000 || !errors.Is(r.Close(), ErrStopped) {
		t.Errorf("%d lines, %d bytes", lines, size)
	}
}
