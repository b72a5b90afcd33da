package gpuring

import (
	"sync"
	"sync/atomic"
	"time"

	"facetrack/internal/clock"
)

// callLock is a writer's lock that tells how long it has been held. Methods hold it for microseconds; only a call of the driver that
// does not come back can make that seconds.
type callLock struct {
	lock  sync.Mutex
	since atomic.Int64 // when it was taken, CLOCK_MONOTONIC ns; 0: it is free
}

func (l *callLock) Lock() {
	l.lock.Lock()
	l.since.Store(clock.Now())
}

func (l *callLock) Unlock() {
	l.since.Store(0)
	l.lock.Unlock()
}

func (l *callLock) held() time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return clock.Since(since)
}

func (w *ringWriter) CallStall() time.Duration { return w.mu.held() }
