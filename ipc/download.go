package ipc

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// onDevice is a lease on device memory. A backend on the GPU takes the address in its view and downloads nothing.
type onDevice struct {
	gpuring.Lease
	downloads *downloads

	mu       sync.Mutex
	local    *download // nil until Host was called
	released bool
}

// Host downloads the frame, once.
func (l *onDevice) Host() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil, fmt.Errorf("%w: the lease has ended", gpuring.ErrReleased)
	}
	if l.local == nil {
		local, err := l.downloads.fetch(l.View())
		if errors.Is(err, gpuring.ErrReleased) || errors.Is(err, gpuring.ErrClosed) { // by this process: the GPU is not to blame
			return nil, fmt.Errorf("download a frame: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: download a frame: %w", gpuring.ErrDevice, err)
		}
		l.local = local
	}
	return l.local.pinned.Bytes(), nil
}

func (l *onDevice) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	if l.local != nil {
		l.downloads.give(l.local)
		l.local = nil
	}
	return l.Lease.Release()
}

// download is a stream and a page-locked buffer for one frame at a time.
type download struct {
	stream *cuda.Stream
	pinned *cuda.Pinned
}

// downloads keeps the idle ones: as many as there were frames in work at once. They stay from ring to ring until the link is
// closed: making them takes time, and the driver does not free memory while a stream waits for a capture process that died, which
// is when rings change. Their context stays as well: making one takes 0.1 s, and more than a second when ten processes do so.
type downloads struct {
	gpu   *cuda.Context
	bytes int // of a frame

	mu     sync.Mutex
	idle   []*download
	closed bool
}

// pool is what identifies downloads: the device and the size of a frame.
type pool struct {
	gpu   cuda.UUID
	bytes int
}

// downloadsOn returns the link's downloads on a device.
func (l *Link) downloadsOn(d cuda.Device, bytes int) (*downloads, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := pool{d.UUID, bytes}
	if have := l.pools[key]; have != nil {
		return have, nil
	}
	if l.closed {
		return nil, errLinkClosed
	}
	gpu, err := cuda.Open(d)
	if err != nil {
		return nil, err
	}
	if l.pools == nil {
		l.pools = map[pool]*downloads{}
	}
	l.pools[key] = &downloads{gpu: gpu, bytes: bytes}
	return l.pools[key], nil
}

// fetch returns when the frame is in the download's buffer. The GPU waits for the frame's upload, the host for the GPU.
func (d *downloads) fetch(v gpuring.View) (*download, error) {
	x, err := d.take()
	if err != nil {
		return nil, err
	}
	if err = v.Fence.Wait(x.stream); err == nil {
		err = x.stream.Download(x.pinned.Bytes(), v.Device)
	}
	// After a failure as well: what was queued before it must be over before its buffer goes.
	if err = errors.Join(err, x.stream.Synchronize()); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (d *downloads) take() (*download, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errLinkClosed
	}
	if last := len(d.idle) - 1; last >= 0 {
		x := d.idle[last]
		d.idle = d.idle[:last]
		return x, nil
	}
	stream, err := d.gpu.NewStream()
	if err != nil {
		return nil, err
	}
	pinned, err := d.gpu.AllocPinned(d.bytes)
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return &download{stream: stream, pinned: pinned}, nil
}

func (d *downloads) give(x *download) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = x.Close() // nobody is left to be told
		return
	}
	d.idle = append(d.idle, x)
}

// Close frees the idle downloads; those in use go when they are given back.
func (d *downloads) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var errs []error
	for _, x := range d.idle {
		errs = append(errs, x.Close())
	}
	d.idle = nil
	return errors.Join(append(errs, d.gpu.Close())...)
}

func (x *download) Close() error { return errors.Join(x.stream.Close(), x.pinned.Close()) }
