package gpuring

import (
	"log/slog"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

const (
	reapInterval = 50 * time.Millisecond
	beatInterval = 100 * time.Millisecond
	// A reader without a heartbeat for this long is revoked: with the two intervals above, its slots are back
	// within 0.95 s.
	stallLimit = 800 * time.Millisecond
)

// reaper takes slots back from readers that ended or stalled, and is the writer's own heartbeat.
type reaper struct {
	c    *control
	log  *slog.Logger
	last int64 // when it looked last, CLOCK_MONOTONIC ns
	seen [MaxReaders]pulse
}

// pulse is what the reaper remembers of a reader.
type pulse struct {
	state, beat uint64
	silent      time.Duration // since the heartbeat changed
}

func newReaper(c *control, log *slog.Logger) *ticking {
	r := &reaper{c: c, log: log, last: clock.Now()}
	return every(reapInterval, r.look)
}

func (r *reaper) look() {
	r.c.writerBeat()
	now := clock.Now()
	// If this process was stopped itself, or starved, the readers' silence meanwhile says nothing about them.
	passed := min(time.Duration(now-r.last), 2*reapInterval)
	r.last = now
	if r.c.faults.NoReaper {
		return
	}
	for i := range MaxReaders {
		if state := r.c.reader(i, rState).Load(); state&statusMask != readerFree {
			r.lookAt(i, state, passed)
		}
	}
}

func (r *reaper) lookAt(i int, state uint64, passed time.Duration) {
	if r.bury(i) {
		return
	}
	if state&statusMask == readerRevoked {
		r.c.clearRevoked(i)
		return
	}
	p, beat := &r.seen[i], r.c.reader(i, rBeat).Load()
	if p.state != state || p.beat != beat {
		*p = pulse{state: state, beat: beat}
		return
	}
	if p.silent += passed; p.silent < stallLimit {
		return
	}
	info, _ := r.c.readerInfo(i)
	if slots, ok := r.c.revoke(i, state>>statusBits); ok {
		r.log.Warn("reader revoked: its heartbeat stopped", "reader", info.Identity, "pid", info.PID, "slots", slots)
	}
}

// bury frees the entry of a reader whose process has ended, or which was revoked and has closed: then, and only
// then, its lock can be taken.
func (r *reaper) bury(i int) bool {
	if r.c.faults.DeafToDeath {
		return false
	}
	mine, err := shm.TryLock(r.c.f, readerByte(i))
	if err != nil {
		r.log.Error("reader's lock cannot be tested", "error", err)
	}
	if !mine {
		return false
	}
	if info, attached := r.c.readerInfo(i); attached {
		slots := r.c.clearEntry(i)
		r.log.Warn("reader gone", "reader", info.Identity, "pid", info.PID, "slots", slots, "revoked", info.Revoked)
	}
	if err := shm.Unlock(r.c.f, readerByte(i)); err != nil {
		r.log.Error("reader's entry stays locked", "error", err)
	}
	return true
}
