package gpuring

import (
	"fmt"
	"os"
	"time"

	"facetrack/gpuring/internal/shm"
	"facetrack/internal/clock"
)

// claimEntry takes a free reader entry for this opening of the control block. The entry's byte lock decides who
// may write to it, so that a process that dies half-way leaves nothing but a free entry.
func (c *control) claimEntry(name string) (i int, epoch uint64, err error) {
	const tries, pause = 40, 5 * time.Millisecond // time for the reaper to clear the entries of the dead
	for range tries {
		for i := range MaxReaders {
			mine, err := shm.TryLock(c.f, readerByte(i))
			if err != nil {
				return 0, 0, fmt.Errorf("%w: the folder's file system has no byte locks: %w", ErrNotShared, err)
			}
			if mine && c.reader(i, rState).Load()&statusMask == readerFree {
				return i, c.fillEntry(i, name), nil
			}
			if mine { // left by a dead process or a revoked reader: the reaper clears it
				_ = shm.Unlock(c.f, readerByte(i))
			}
		}
		time.Sleep(pause)
	}
	return 0, 0, fmt.Errorf("%w: all %d places are taken: close a reader first", ErrReadersFull, MaxReaders)
}

// fillEntry writes a free, locked entry and makes it live.
func (c *control) fillEntry(i int, name string) (epoch uint64) {
	epoch = c.reader(i, rState).Load()>>statusBits + 1
	c.reader(i, rPID).Store(uint64(os.Getpid()))
	c.reader(i, rMaps).Store(0)
	putText(c.m, headerWords+c.slots*slotWords+i*readerWords+rName, nameWords, name)
	c.beat(i)
	c.reader(i, rState).Store(epoch<<statusBits | readerLive)
	return epoch
}

// clearEntry frees an entry whose owner has left its lock, with the slots it still holds. Only the reaper frees
// entries that are not the caller's own: its clearing of bits can then never meet a new owner.
func (c *control) clearEntry(i int) (slots uint64) {
	slots = c.letGoAll(i)
	c.word(hReclaimDead).Add(slots)
	c.reader(i, rState).Store(c.reader(i, rState).Load() &^ statusMask)
	return slots
}

// leaveEntry frees the caller's own entry, or leaves it to the reaper if it was revoked.
func (c *control) leaveEntry(i int, epoch uint64) error {
	c.letGoAll(i)
	c.reader(i, rState).CompareAndSwap(epoch<<statusBits|readerLive, epoch<<statusBits|readerFree)
	return shm.Unlock(c.f, readerByte(i))
}

// live reports whether the entry still belongs to the epoch's owner and was not revoked. It exchanges the word
// with itself instead of loading it: every read of pixels before the call then happens before a later
// revocation, also on processors that let a load pass earlier loads.
func (c *control) live(i int, epoch uint64) bool {
	if c.faults.IgnoreRevocation || c.faults.NoLeases {
		return true
	}
	state := epoch<<statusBits | readerLive
	return c.reader(i, rState).CompareAndSwap(state, state)
}

// revoke declares reader i dead although its process is not. The entry stays locked by that process, so its bit
// is given to nobody else before the process has closed the reader or has ended.
func (c *control) revoke(i int, epoch uint64) (slots uint64, ok bool) {
	if !c.reader(i, rState).CompareAndSwap(epoch<<statusBits|readerLive, epoch<<statusBits|readerRevoked) {
		return 0, false
	}
	return c.clearRevoked(i), true
}

// clearRevoked takes back a revoked reader's slots, again and again: it may have been stopped inside Lease,
// and set its bit when it woke up.
func (c *control) clearRevoked(i int) (slots uint64) {
	slots = c.letGoAll(i)
	c.word(hReclaimStalled).Add(slots)
	return slots
}

func (c *control) beat(i int) {
	c.reader(i, rBeat).Store(uint64(clock.Now()))
}

func (c *control) readerInfo(i int) (info ReaderInfo, attached bool) {
	status := c.reader(i, rState).Load() & statusMask
	return ReaderInfo{
		Identity:     getText(c.m, headerWords+c.slots*slotWords+i*readerWords+rName, nameWords),
		PID:          int(c.reader(i, rPID).Load()),
		Held:         c.held(i),
		HeartbeatAge: max(0, clock.Since(int64(c.reader(i, rBeat).Load()))),
		Revoked:      status == readerRevoked,
	}, status != readerFree
}
