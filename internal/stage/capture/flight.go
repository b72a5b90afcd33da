package capture

import (
	"context"
	"sync"
	"time"
)

// flight knows which frames are on their way through the stages. It is safe for concurrent use.
//
// A frame without news for patience is taken for lost, so that the death of a stage never stops capture for good.
type flight struct {
	patience time.Duration

	mu      sync.Mutex
	sent    map[uint64]time.Time
	changed chan struct{}
}

func newFlight(patience time.Duration) *flight {
	return &flight{patience: patience, sent: map[uint64]time.Time{}, changed: make(chan struct{}, 1)}
}

// add notes that a frame was sent.
func (f *flight) add(seq uint64) {
	now := time.Now()
	f.expire(now) // nobody may ever wait for room: this keeps a dead tracker from filling the memory
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[seq] = now
}

// done notes that a frame reached its end.
func (f *flight) done(seq uint64) {
	f.mu.Lock()
	delete(f.sent, seq)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// end returns one more than the highest number under way, 0 when there is none.
func (f *flight) end() (end uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for seq := range f.sent {
		end = max(end, seq+1)
	}
	return end
}

// passed reports whether no number below end is under way any more.
func (f *flight) passed(end uint64) bool {
	f.expire(time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	for seq := range f.sent {
		if seq < end {
			return false
		}
	}
	return true
}

// wait returns once fewer than limit frames are under way, or ctx is done.
func (f *flight) wait(ctx context.Context, limit int) {
	for {
		n, oldest := f.expire(time.Now())
		if n < limit {
			return
		}
		timer := time.NewTimer(oldest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-f.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// expire forgets lost frames; it returns how many are left and how long until the oldest of them is lost.
func (f *flight) expire(now time.Time) (n int, oldest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest = f.patience
	for seq, at := range f.sent {
		left := f.patience - now.Sub(at)
		if left <= 0 {
			delete(f.sent, seq)
			continue
		}
		oldest = min(oldest, left)
	}
	return len(f.sent), oldest
}
