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

	mu    sync.Mutex
	local *download // nil until Host was called
}

// Host downloads the frame, once.
func (l *onDevice) Host() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.local == nil {
		local, err := l.downloads.fetch(l.View())
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

// downloads keeps the idle ones: as many as there were frames in work at once.
type downloads struct {
	gpu   *cuda.Context
	bytes int // of a frame

	mu   sync.Mutex
	idle []*download
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
	d.idle = append(d.idle, x)
}

// Close frees the idle downloads; none may be in use.
func (d *downloads) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, x := range d.idle {
		errs = append(errs, x.Close())
	}
	d.idle = nil
	return errors.Join(errs...)
}

func (x *download) Close() error { return errors.Join(x.stream.Close(), x.pinned.Close()) }
