package xdftest

import (
	"context"
	_ "embed"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/reader.cpp
var reader string

// Libxdf is what libxdf finds in a file, as testdata/reader.cpp prints it, without what the library itself prints. The test is
// skipped where the library or a compiler is missing.
func Libxdf(t testing.TB, path string) []string {
	t.Helper()
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("SKIPPED: needs g++ to build testdata/reader.cpp")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	if exec.CommandContext(ctx, compiler, "-include", "xdf.h", "-E", "-x", "c++", "/dev/null").Run() != nil { //nolint:gosec // the compiler
		t.Skip("SKIPPED: needs xdf.h (apt-get install libxdf-dev)")
	}
	bin := filepath.Join(t.TempDir(), "reader")
	build := exec.CommandContext(ctx, compiler, "-Wall", "-Werror", "-o", bin, "-x", "c++", "-", "-lxdf") //nolint:gosec // the compiler
	build.Stdin = strings.NewReader(reader)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, bin, path).Output() //nolint:gosec // built just now
	if err != nil {
		t.Fatalf("reader: %v\n%s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "version", "stream", "label", "sample", "offset", "footer":
			lines = append(lines, strings.TrimSpace(line))
		case "Unknown":
			t.Error(line)
		}
	}
	return lines
}
