package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"facetrack/internal/ledger"
)

// paper is a screen that is no terminal, and what is on it.
func paper(t *testing.T, quiet bool) (s *screen, text func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return newScreen(f, quiet), func() string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

var running = map[string]ledger.Summary{
	"b": {Tracked: 7, FPS: 29.96, Dropped: map[string]uint64{"x": 1, "y": 2}, Identities: map[int]uint64{1: 1, 4: 1}},
	"a": {Tracked: 3},
}

const runningText = "a: 3 frames, 0.0/s, 0 people, 0 ms, 0 dropped   b: 7 frames, 30.0/s, 2 people, 0 ms, 3 dropped"

// Where lines cannot be replaced, progress is a line now and then, without control characters.
func TestProgressOnPaperIsRare(t *testing.T) {
	s, text := paper(t, false)
	if s.terminal {
		t.Fatal("a file is taken for a terminal")
	}
	s.progress(running)
	s.line("fetching")
	if text() != "" {
		t.Errorf("progress at once: %q", text())
	}
	s.last = time.Now().Add(-logEvery)
	s.progress(running)
	s.progress(running)
	if text() != runningText+"\n" {
		t.Errorf("progress %q", text())
	}
	s.last = time.Now().Add(-logEvery)
	s.line("fetching")
	s.clear()
	if text() != runningText+"\nfetching\n" {
		t.Errorf("progress %q", text())
	}
	s.last = time.Now().Add(-logEvery)
	s.progress(nil)
	if text() != runningText+"\nfetching\n" {
		t.Errorf("no camera makes a line: %q", text())
	}
}

func TestQuietScreenShowsOnlyTheLog(t *testing.T) {
	s, text := paper(t, true)
	s.last = time.Now().Add(-logEvery)
	s.progress(running)
	s.line("fetching")
	s.note("rig is up")
	if text() != "" {
		t.Errorf("quiet screen: %q", text())
	}
	if n, err := s.Write([]byte("level=WARN\n")); n != 11 || err != nil || text() != "level=WARN\n" {
		t.Errorf("log line: %d, %v, %q", n, err, text())
	}
}

// On a terminal the progress line is replaced, and a log line goes above it.
func TestProgressOnATerminalIsReplaced(t *testing.T) {
	s, text := paper(t, false)
	s.terminal = true
	s.line("one")
	s.line("two")
	s.note("%d cameras", 2)
	s.progress(running)
	s.clear()
	s.clear()
	const erase = "\r\x1b[K"
	if want := "one" + erase + "two" + erase + "2 cameras\n" + runningText + erase; text() != want {
		t.Errorf("terminal %q\nwant %q", text(), want)
	}
}

func TestLoggerKeepsItsLevel(t *testing.T) {
	s, text := paper(t, false)
	log := newLogger(s, "warn")
	log.Info("hidden")
	log.Warn("shown")
	if got := text(); len(got) == 0 || !log.Enabled(t.Context(), slog.LevelWarn) || log.Enabled(t.Context(), slog.LevelInfo) {
		t.Errorf("log %q", got)
	}
	if log := newLogger(s, "nonsense"); !log.Enabled(t.Context(), slog.LevelInfo) || log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("an unknown level is not info")
	}
}
