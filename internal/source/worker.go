package source

import (
	"context"
	"fmt"
	"time"
)

// worker runs calls that may hang on a goroutine of its own. A call that takes too long is abandoned: the
// caller gets an error at once, the goroutine ends when the call does, and then runs the cleanup.
type worker struct {
	calls chan func()
	gone  bool // a call was abandoned, or stop was called
}

// newWorker starts the goroutine. cleanup runs on it, last.
func newWorker(cleanup func()) *worker {
	w := &worker{calls: make(chan func())}
	go func() {
		for call := range w.calls {
			call()
		}
		cleanup()
	}()
	return w
}

// do runs call, for at most limit. ErrLost after that; the context's error when it ends first; ErrClosed
// when an earlier call was abandoned. What call wrote may only be read when do returned nil.
func (w *worker) do(ctx context.Context, limit time.Duration, what string, call func()) error {
	if w.gone {
		return ErrClosed
	}
	done := make(chan struct{})
	w.calls <- func() { defer close(done); call() }
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		w.stop()
		return ctx.Err()
	case <-timer.C:
		w.stop()
		return fmt.Errorf("%w: %s: no answer within %v", ErrLost, what, limit)
	}
}

// stop lets the goroutine clean up and end, now or when its call returns. It does not wait.
func (w *worker) stop() {
	if !w.gone {
		w.gone = true
		close(w.calls)
	}
}
