package source

import (
	"context"
	"errors"
	"testing"
	"time"
)

const patience = time.Minute // never reached unless something is broken

func TestWorkerRunsCalls(t *testing.T) {
	cleaned := make(chan struct{})
	w := newWorker(func() { close(cleaned) })
	n := 0
	for range 3 {
		if err := w.do(t.Context(), patience, "x", func() { n++ }); err != nil {
			t.Fatal(err)
		}
	}
	w.stop()
	w.stop()
	<-cleaned
	if n != 3 {
		t.Errorf("%d calls ran", n)
	}
	if err := w.do(t.Context(), patience, "x", func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("after stop: %v", err)
	}
}

func TestWorkerAbandonsACallThatHangs(t *testing.T) {
	t.Run("limit", func(t *testing.T) { checkAbandoned(t.Context(), t, time.Millisecond, func() {}, ErrLost) })
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		checkAbandoned(ctx, t, patience, cancel, context.Canceled)
	})
}

func checkAbandoned(ctx context.Context, t *testing.T, limit time.Duration, started func(), want error) {
	t.Helper()
	cleaned, release := make(chan struct{}), make(chan struct{})
	w := newWorker(func() { close(cleaned) })
	if err := w.do(ctx, limit, "camera", func() { started(); <-release }); !errors.Is(err, want) {
		t.Errorf("a call that hangs: %v, want %v", err, want)
	}
	if err := w.do(t.Context(), patience, "camera", func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("the call after it: %v", err)
	}
	select {
	case <-cleaned:
		t.Error("cleaned up while the call still ran")
	default:
	}
	close(release)
	<-cleaned
}
