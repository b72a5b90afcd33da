package gpuvision

import (
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"facetrack/internal/cuda"
)

// intake has frames waited for and brings those in host memory to the device.
type intake struct {
	room   room
	parted atomic.Int64
}

// arrival is a frame on its way to the device.
type arrival struct {
	*Frame
	address uint64
	idle    bool  // nobody reads the frame
	err     error // the frame cannot be read, other frames can
}

// sized is memory for n zero values, the old one if it is large enough.
func sized[T any](old []T, n int) []T {
	s := slices.Grow(old[:0], n)[:n]
	clear(s)
	return s
}

// parts goes through the frames, all at once if there is memory for those of the host. Whatever has to be before work on a part, the frames
// from begin to end that have no error then, is queued in a stream that has nothing else to do. That work has ended before the next part.
func (k *intake) parts(stream *cuda.Stream, frames []arrival) iter.Seq2[int, int] {
	return func(yield func(begin, end int) bool) {
		check(frames)
		for begin := 0; begin < len(frames); {
			n, err := k.room.fit(frames[begin:])
			end := begin + n
			if begin == 0 && end < len(frames) {
				k.parted.Add(1)
			}
			if k.take(stream, frames[begin:end], err); !yield(begin, end) {
				return
			}
			begin = end
		}
	}
}

func check(frames []arrival) {
	for i := range frames {
		if f := &frames[i]; f.awaited() {
			f.err = f.validate()
		}
	}
}

func (f *arrival) awaited() bool { return f.err == nil && !f.idle }

// own is how many bytes of ours the frame needs.
func (f *arrival) own() int64 {
	if !f.awaited() {
		return 0
	}
	return int64(aligned(uint64(f.bytes())))
}

// take brings a part; failed is why there is no room for frames of the host.
func (k *intake) take(stream *cuda.Stream, frames []arrival, failed error) {
	k.upload(stream, frames, failed)
	for i := range frames {
		f := &frames[i]
		if !f.awaited() || f.Device == 0 {
			continue
		}
		if f.address = f.Device; f.Wait != nil {
			f.err = f.Wait(stream)
		}
	}
}

// upload copies from where the pixels are, before any wait: memory that is page-locked goes up by itself, the driver takes other memory
// through its own, in less time than a copy to page-locked memory of ours would need.
func (k *intake) upload(stream *cuda.Stream, frames []arrival, failed error) {
	next := uint64(0)
	for i := range frames {
		f := &frames[i]
		if !f.awaited() || f.Device != 0 {
			continue
		}
		if f.err = failed; f.err == nil {
			f.address = k.room.memory.Address() + next
			next += aligned(uint64(f.bytes()))
			f.err = f.upload(stream)
		}
	}
}

func (f *arrival) upload(stream *cuda.Stream) error {
	if f.Wait != nil {
		if err := f.Wait(stream); err != nil {
			return err
		}
	}
	if err := stream.Upload(f.address, f.Image.Pix[:f.bytes()]); err != nil {
		return fmt.Errorf("upload of a frame: %w", err)
	}
	return nil
}

func (k *intake) close() error { return k.room.close() }
