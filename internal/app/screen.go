package app

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"facetrack/internal/ledger"
)

// logEvery is how often progress is written where it cannot overwrite itself.
const logEvery = 10 * time.Second

// screen shows one line of progress below the log. As a Writer it takes log lines, also those of children.
type screen struct {
	mu       sync.Mutex
	out      *os.File
	quiet    bool
	terminal bool
	shown    bool // a progress line is on the screen
	last     time.Time
}

func newScreen(out *os.File, quiet bool) *screen {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return &screen{out: out, quiet: quiet, terminal: err == nil, last: time.Now()}
}

// Write takes whole log lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.out.Write(p)
}

// note prints one line for the user.
func (s *screen) note(format string, args ...any) {
	if !s.quiet {
		_, _ = fmt.Fprintf(s, format+"\n", args...)
	}
}

// clear removes the progress line.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *screen) erase() {
	if s.shown {
		_, _ = s.out.WriteString("\r\x1b[K")
		s.shown = false
	}
}

// progress shows how the cameras are doing.
func (s *screen) progress(cameras map[string]ledger.Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || !s.terminal && time.Since(s.last) < logEvery {
		return
	}
	s.last = time.Now()
	var line bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(cameras)) {
		c := cameras[name]
		_, _ = fmt.Fprintf(&line, "%s: %d frames, %.1f/s, %d people, %.0f ms, %d dropped   ",
			name, c.Tracked, c.FPS, len(c.Identities), c.LatencyMS.CaptureToTracks.P50, c.TotalDropped())
	}
	s.show(string(bytes.TrimSpace(line.Bytes())))
}

// line shows one line of progress.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || !s.terminal && time.Since(s.last) < logEvery {
		return
	}
	s.last = time.Now()
	s.show(text)
}

// show replaces the progress line, or writes one where lines cannot be replaced.
func (s *screen) show(text string) {
	s.erase()
	if s.terminal {
		_, _ = s.out.WriteString(text)
		s.shown = true
	} else if text != "" {
		_, _ = s.out.WriteString(text + "\n")
	}
}
