package lsl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"facetrack/internal/testutil"
)

// onlyThisHost keeps a reader's queries on the loopback interface.
const onlyThisHost = "[ports]\nIPv6 = disable\n[multicast]\nResolveScope = machine\n[lab]\nKnownPeers = {127.0.0.1}\n"

// libReader is a process that reads with the real liblsl.
type libReader struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// needLibrary returns the paths of liblsl and gcc. Without them it skips the test and says so.
func needLibrary(t testing.TB) (lib, gcc string) {
	t.Helper()
	if lib = os.Getenv("LIBLSL"); lib == "" {
		lib = filepath.Join(testutil.RepoRoot(), ".cache", "liblsl", "liblsl64.so")
		if _, err := os.Stat(lib); err != nil {
			t.Skip("SKIPPED: no liblsl: scripts/liblsl.sh fetches it, or set LIBLSL=/path/to/liblsl.so; the tests named TestReader… read with this package's own")
		}
	}
	lib, err := filepath.Abs(lib)
	if err != nil {
		t.Fatal(err)
	}
	gcc, err = exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED: needs gcc to build testdata/reader.c")
	}
	return lib, gcc
}

// libCommand builds testdata/reader.c and returns the command that runs it with a configuration of its own. A wrapper starts it, if one is given.
func libCommand(t testing.TB, config string, wrapper []string, args ...string) *exec.Cmd {
	t.Helper()
	lib, gcc := needLibrary(t)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	t.Cleanup(cancel)
	dir := t.TempDir()
	bin, file := filepath.Join(dir, "reader"), filepath.Join(dir, "lsl_api.cfg")
	out, err := exec.CommandContext(ctx, gcc, "-O1", "-Wall", "-Werror", "-o", bin, "testdata/reader.c", "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	line := append(append(append([]string{}, wrapper...), bin, lib), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "LSLAPICFG="+file)
	cmd.Dir = dir // where older builds look for it
	return cmd
}

// startReader runs the command and checks that the library can be loaded.
func startReader(t testing.TB, cmd *exec.Cmd) *libReader {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("liblsl says:\n%s", log.String())
		}
	})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 4<<20)
	return &libReader{t: t, cmd: cmd, in: in, lines: lines}
}

// startLibReader starts a reader of one stream on this host.
func startLibReader(t testing.TB, predicate, format string, channels int) *libReader {
	t.Helper()
	return startReader(t, libCommand(t, onlyThisHost, nil, predicate, format, strconv.Itoa(channels)))
}

// next returns the rest of the next line that starts with the word.
func (r *libReader) next(word string) string {
	r.t.Helper()
	for r.lines.Scan() {
		first, rest, _ := strings.Cut(r.lines.Text(), " ")
		switch first {
		case word:
			return rest
		case "error":
			r.t.Fatalf("waiting for %q: %s", word, r.lines.Text())
		}
	}
	r.t.Fatalf("reader ended before %q: %v", word, r.lines.Err())
	return ""
}

// sample returns the next sample's stamp and values.
func (r *libReader) sample() (float64, []string) {
	r.t.Helper()
	words := strings.Fields(r.next("sample"))
	return r.number(words[0]), words[1:]
}

func (r *libReader) number(text string) float64 {
	r.t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// find returns the source ids of the streams that match, as soon as there are so many or the time is over.
func (r *libReader) find(least int, within time.Duration, predicate string) []string {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.in, "%d %g %s\n", least, within.Seconds(), predicate); err != nil {
		r.t.Fatal(err)
	}
	return strings.Fields(r.next("found"))
}
