package gpuvision

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"facetrack/internal/cuda"
)

// room is device memory for frames of the host, and grows with them. When the device has no more, frames go in parts of half as many bytes, a
// quarter, …, and that is kept as the limit: a try in vain costs the memory that there is. After a while twice as much is tried.
type room struct {
	from   supply
	log    *slog.Logger
	memory *cuda.Memory

	limit   int64     // bytes of a part; 0: nothing was refused yet
	told    int64     // the limit that was reported last
	least   int64     // the fewest bytes that were refused lately
	refused error     // the driver's
	again   time.Time // when as much is tried again
}

// shortage is how long nothing more is tried.
const shortage = time.Second

// fit makes room for the frames, or as many of the first as there is memory for, and tells how many that are. An error is about those of the
// host among them; one that wraps cuda.OutOfMemory is about a single one.
func (r *room) fit(frames []arrival) (n int, err error) {
	n, bytes := within(frames, r.budget())
	for err = r.grow(bytes); errors.Is(err, cuda.OutOfMemory); err = r.grow(bytes) {
		fewer, less := within(frames, r.limit)
		if fewer >= n {
			break
		}
		n, bytes = fewer, less
	}
	r.report(frames, n)
	return n, err
}

func (r *room) budget() int64 {
	most := max(r.limit, r.bytes())
	switch {
	case r.limit == 0:
		return math.MaxInt64
	case r.short():
		return most
	}
	return 2 * most
}

// within is how many of the first frames need no more than some bytes, and how many they need. The first frame of the host is always among them.
func within(frames []arrival, limit int64) (n int, bytes int64) {
	for i := range frames {
		own := frames[i].own()
		if own > 0 && bytes > 0 && bytes+own > limit {
			return i, bytes
		}
		bytes += own
	}
	return len(frames), bytes
}

func (r *room) short() bool { return time.Now().Before(r.again) }

func (r *room) bytes() int64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.Bytes()
}

// grow makes room for so many bytes. Nothing reads the memory that is given up.
func (r *room) grow(bytes int64) error {
	if bytes <= r.bytes() {
		return nil
	}
	if bytes >= r.least && r.short() {
		return r.refused
	}
	if err := r.close(); err != nil {
		return err
	}
	memory, err := r.from.Alloc(bytes)
	if err != nil {
		err = fmt.Errorf("memory for frames of the host: %w", err)
		if errors.Is(err, cuda.OutOfMemory) {
			r.refuse(bytes, err)
		}
		return err
	}
	r.memory = memory
	if r.limit > 0 {
		r.limit = max(r.limit, bytes)
	}
	return nil
}

func (r *room) refuse(bytes int64, why error) {
	if bytes < r.least || !r.short() {
		r.least = bytes
	}
	r.refused, r.again = why, time.Now().Add(shortage)
	if r.limit == 0 {
		r.limit = bytes
	}
	for r.limit >= bytes {
		r.limit /= 2
	}
}

// report tells once of a limit.
func (r *room) report(frames []arrival, n int) {
	if r.limit == r.told {
		return
	}
	_, bytes := within(frames, math.MaxInt64)
	log, text := r.log.Warn, "not enough GPU memory for the frames of a batch: they go in parts"
	if r.told > 0 && r.limit > r.told {
		log, text = r.log.Info, "more GPU memory for the frames of a batch"
	}
	log(text, "frames", len(frames), "bytes", bytes, "part", n, "memory", r.bytes())
	r.told = r.limit
}

func (r *room) close() error {
	err := r.memory.Close()
	r.memory = nil
	return err
}
