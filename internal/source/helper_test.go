package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mustOpen opens spec and closes it with the test.
func mustOpen(t testing.TB, spec string, opts Options) Source {
	t.Helper()
	s, err := Open(context.Background(), spec, opts)
	if err != nil {
		t.Fatalf("Open(%q): %v", spec, err)
	}
	t.Cleanup(func() { mustClose(t, s) })
	return s
}

func mustClose(t testing.TB, s Source) {
	t.Helper()
	for range 2 { // Close is idempotent
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// next grabs and retrieves a frame.
func next(t testing.TB, s Source) []byte {
	t.Helper()
	if _, err := s.Grab(context.Background()); err != nil {
		t.Fatalf("Grab: %v", err)
	}
	dst := make([]byte, s.Info().FrameBytes())
	if err := s.Retrieve(dst); err != nil {
		t.Fatalf("Retrieve: %v", err)
	}
	return dst
}

// drain grabs until Grab fails and returns how many frames there were, and the error.
func drain(s Source) (int, error) {
	for n := 0; ; n++ {
		if _, err := s.Grab(context.Background()); err != nil {
			return n, err
		}
	}
}

// wantError checks the sentinel and that the message names every part.
func wantError(t testing.TB, err, sentinel error, parts ...string) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("error is %v, want %v", err, sentinel)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not name %q", err, p)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
}

func openError(t testing.TB, spec string, sentinel error, parts ...string) {
	t.Helper()
	s, err := Open(context.Background(), spec, Options{})
	if err == nil {
		mustClose(t, s)
	}
	wantError(t, err, sentinel, parts...)
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkContract runs what every finite source has to keep; frames is how many it has.
func checkContract(t *testing.T, frames int, open func() Source) {
	t.Helper()
	s := open()
	dst := make([]byte, s.Info().FrameBytes())
	wantError(t, s.Retrieve(dst), ErrNoFrame)
	var all [][]byte
	last := int64(0)
	for range frames {
		at, err := s.Grab(context.Background())
		if err != nil || at < last {
			t.Fatalf("Grab of frame %d: instant %d after %d, %v", len(all), at, last, err)
		}
		last = at
		if err := s.Retrieve(dst); err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(dst))
	}
	if _, err := s.Grab(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatalf("after %d frames Grab says %v, want EOF", frames, err)
	}
	wantError(t, s.Retrieve(dst[1:]), ErrBuffer)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Grab(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Grab under a cancelled context: %v", err)
	}
	mustClose(t, s)
	wantError(t, s.Retrieve(dst), ErrNoFrame)
	checkSkip(t, all, open)
}

func checkSkip(t *testing.T, all [][]byte, open func() Source) {
	t.Helper()
	for n := range all {
		s := open()
		if err := s.Skip(int64(n)); err != nil {
			t.Fatalf("Skip(%d): %v", n, err)
		}
		if !bytes.Equal(next(t, s), all[n]) {
			t.Fatalf("after Skip(%d) the frame is not frame %d", n, n)
		}
		mustClose(t, s)
	}
	s := open()
	if err := s.Skip(int64(len(all)) + 1); !errors.Is(err, io.EOF) {
		t.Errorf("Skip beyond the end: %v", err)
	}
	mustClose(t, s)
	if _, err := s.Grab(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("Grab after Close: %v", err)
	}
}
