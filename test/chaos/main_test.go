package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"facetrack/internal/stage/stagetest"
)

// TestMain lets this program be what the real one starts of itself.
func TestMain(m *testing.M) {
	if what := os.Getenv(busVariable); what != "" {
		exitWith(serveBus(what))
	}
	if threads := os.Getenv(burnVariable); threads != "" {
		exitWith(burn(threads))
	}
	if what := os.Getenv(witnessVariable); what != "" {
		exitWith(serveWitness(what))
	}
	os.Exit(m.Run())
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// A witness that is killed is followed by another, and what it said still counts.
func TestWitnessIsReplaced(t *testing.T) {
	h, err := newHearing(stagetest.NewBus(t).URL, stagetest.Rig)
	if err != nil {
		t.Fatal(err)
	}
	first := h.pid()
	eventually(t, "the witness says something", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.last.Refused != nil
	})
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another takes its place", func() bool { return h.pid() != 0 && h.pid() != first })
	second := h.pid()
	if said, err := h.close(); err != nil || said.Refused == nil {
		t.Errorf("%+v, %v", said, err)
	}
	eventually(t, "none is left", func() bool { return syscall.Kill(second, 0) != nil })
}

// The server's process can be killed, and be started again on its data.
func TestBusIsKilledAndStartedAgain(t *testing.T) {
	port, err := freePort(23500)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &bus{port: port, dir: dir, log: filepath.Join(t.TempDir(), "log")}
	for range 2 {
		if err := b.start(); err != nil {
			t.Fatal(err)
		}
		if err := b.ready(patience); err != nil {
			t.Fatal(err)
		}
		if err := b.kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.kill(); err != nil {
		t.Errorf("killed twice: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "jetstream")); err != nil {
		t.Error(err)
	}
}

// What takes CPUs away ends when it is to.
func TestStarvationEnds(t *testing.T) {
	end, err := starve()
	if err != nil {
		t.Fatal(err)
	}
	before := children(os.Getpid())
	end()
	if len(before) != 1 || len(children(os.Getpid())) != 0 {
		t.Errorf("processes %v, then %v", before, children(os.Getpid()))
	}
}
