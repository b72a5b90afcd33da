package gpuvision

import (
	"fmt"
	"slices"

	"facetrack/internal/cuda"
)

// intake has frames waited for and brings those in host memory to the device, into memory that grows with them.
type intake struct {
	ctx    *cuda.Context
	memory *cuda.Memory
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

// take queues in a stream that has nothing else to do whatever has to be before work on the frames that have no error yet.
func (k *intake) take(stream *cuda.Stream, frames []arrival) {
	total := uint64(0)
	for i := range frames {
		f := &frames[i]
		if f.err == nil && !f.idle {
			f.err = f.validate()
		}
		if f.awaited() {
			f.address = f.Device
			total += aligned(uint64(f.bytes()))
		}
	}
	if total > 0 {
		k.upload(stream, frames, total)
	}
	for i := range frames {
		if f := &frames[i]; f.awaited() && f.Device != 0 && f.Wait != nil {
			f.err = f.Wait(stream)
		}
	}
}

func (f *arrival) awaited() bool { return f.err == nil && !f.idle }

// upload copies from where the pixels are, before any wait: memory that is page-locked goes up by itself, the driver takes other memory
// through its own, in less time than a copy to page-locked memory of ours would need.
func (k *intake) upload(stream *cuda.Stream, frames []arrival, total uint64) {
	failed := k.grow(int64(total))
	next := uint64(0)
	for i := range frames {
		f := &frames[i]
		if !f.awaited() || f.Device != 0 {
			continue
		}
		if f.err = failed; f.err == nil {
			f.address = k.memory.Address() + next
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

// grow makes room for so many bytes. Nothing reads the memory that is given up.
func (k *intake) grow(bytes int64) error {
	if k.memory != nil && k.memory.Bytes() >= bytes {
		return nil
	}
	if err := k.close(); err != nil {
		return err
	}
	memory, err := k.ctx.Alloc(bytes)
	if err != nil {
		return fmt.Errorf("memory for frames of the host: %w", err)
	}
	k.memory = memory
	return nil
}

func (k *intake) close() error {
	err := k.memory.Close()
	k.memory = nil
	return err
}
