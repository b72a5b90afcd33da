package ipcbench

import (
	"encoding/binary"
	"errors"

	"facetrack/internal/clock"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
)

// lane looks at one frame at a time: a stream with a counter of wrong tiles and room for an upload. Without a GPU it is the CPU.
type lane struct {
	set        *kernels.Set
	stream     *cuda.Stream // nil: the CPU
	room       *cuda.Memory // the counter, and from counterRoom on the frame
	counted    *cuda.Pinned
	before     uint32 // what the counter held last
	frameBytes int
	up, down   int64 // bytes passed to upload and download calls
}

const (
	counterRoom  = 512
	counterBytes = 4
)

func newLane(gpu *cuda.Context, set *kernels.Set, frameBytes int) (_ *lane, err error) {
	l := &lane{set: set, frameBytes: frameBytes}
	if gpu == nil {
		return l, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.stream, err = gpu.NewStream(); err != nil {
		return nil, err
	}
	if l.room, err = gpu.Alloc(counterRoom + int64(frameBytes)); err != nil {
		return nil, err
	}
	l.counted, err = gpu.AllocPinned(counterBytes)
	return l, err
}

// upload queues a frame for the lane's own room.
func (l *lane) upload(pixels []byte, release func() error) (frame, error) {
	if l.stream == nil {
		return frame{host: pixels, release: release}, nil
	}
	l.up += int64(len(pixels))
	at := l.room.Address() + counterRoom
	if err := l.stream.Upload(at, pixels); err != nil {
		return frame{}, errors.Join(err, l.stream.Synchronize(), release())
	}
	return frame{at: at, host: pixels, release: release}, nil
}

// start runs a kernel that reads one tile, and returns when the host knows that it has ended.
func (l *lane) start(f frame, stamp uint64) (t1 int64, err error) {
	const rowBytes, rows = kernels.Tile, 1
	if l.stream == nil {
		l.count(kernels.CheckHost(f.host[:rowBytes], rowBytes, rows, stamp))
		return clock.Now(), nil
	}
	err = l.set.Check(l.stream, f.at, rowBytes, rows, stamp, l.room.Address(), 1, 0)
	return l.ended(err)
}

// whole is start for a kernel that reads every byte, the given number of times.
func (l *lane) whole(f frame, rowBytes, rows int, stamp uint64, passes int) (t1 int64, err error) {
	if err := l.queueWhole(f, rowBytes, rows, stamp, passes); err != nil || l.stream == nil {
		return clock.Now(), err
	}
	return l.ended(nil)
}

func (l *lane) queueWhole(f frame, rowBytes, rows int, stamp uint64, passes int) error {
	if l.stream == nil {
		for range passes {
			l.count(kernels.CheckHost(f.host, rowBytes, rows, stamp))
		}
		return nil
	}
	return l.set.Check(l.stream, f.at, rowBytes, rows, stamp, l.room.Address(), passes, 0)
}

func (l *lane) ended(err error) (int64, error) {
	err = errors.Join(err, l.stream.Synchronize())
	return clock.Now(), err
}

// wrong tells whether tiles were wrong since it was last asked; the frame's work has ended then.
func (l *lane) wrong() (bool, error) {
	if l.stream == nil {
		wrong := l.before > 0
		l.before = 0
		return wrong, nil
	}
	l.down += counterBytes
	if err := errors.Join(l.stream.Download(l.counted.Bytes(), l.room.Address()), l.stream.Synchronize()); err != nil {
		return false, err
	}
	now := binary.LittleEndian.Uint32(l.counted.Bytes())
	wrong := now != l.before
	l.before = now
	return wrong, nil
}

func (l *lane) count(tiles int) { l.before += uint32(tiles) }

// Close gives everything back; queued work has ended.
func (l *lane) Close() error {
	if l.stream == nil {
		return nil
	}
	err := errors.Join(l.stream.Synchronize(), l.stream.Close(), l.counted.Close())
	if l.room != nil {
		err = errors.Join(err, l.room.Close())
	}
	return err
}
