package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"facetrack/gpuring"
)

// channel is an open way to the pixels of one ring.
type channel interface {
	lease(ctx context.Context, t gpuring.Ticket) (Lease, error)
	reaches() reach
	Close() error
}

// rung is one transport of the ladder.
type rung interface {
	transport() Transport
	// attach opens the ring that reply describes. Its error says in plain words why this transport cannot be used.
	attach(ctx context.Context, l *Link, reply *AttachReply) (channel, error)
}

// rungs is the ladder in the order in which it is tried.
func rungs() []rung { return []rung{cudaRung{}, shmRung{}, copyRung{}} }

// offered is nil when capture offers the transport, else its reason.
func (r *AttachReply) offered(t Transport) error {
	for _, o := range r.Transports {
		if o.Transport == t {
			if o.Offered {
				return nil
			}
			return errors.New(o.Reason)
		}
	}
	return errors.New("capture does not offer it")
}

// shmRung maps the ring's files.
type shmRung struct{}

func (shmRung) transport() Transport { return SHM }

func (shmRung) attach(_ context.Context, l *Link, reply *AttachReply) (channel, error) {
	if err := reply.offered(SHM); err != nil {
		return nil, err
	}
	d := l.located(reply.Ring)
	reader, err := gpuring.Open(d, l.identity)
	if err != nil {
		return nil, whyNotShared(err, l.host, filepath.Dir(d.ControlPath), reply)
	}
	return &mapped{reader}, nil
}

// located is the ring with its files where this process sees them, and whom it trusts with them.
func (l *Link) located(d gpuring.Descriptor) gpuring.Descriptor {
	d.Group = l.opts.Group
	if l.opts.Dir != "" {
		d.ControlPath = filepath.Join(l.opts.Dir, filepath.Base(d.ControlPath))
		d.PixelPath = filepath.Join(l.opts.Dir, filepath.Base(d.PixelPath))
	}
	return d
}

// whyNotShared puts the likely cause in front of the error.
func whyNotShared(err error, host, dir string, reply *AttachReply) error {
	switch {
	case errors.Is(err, gpuring.ErrClosed), errors.Is(err, gpuring.ErrReadersFull):
		return err
	case reply.Host != host:
		return fmt.Errorf("capture runs on another host, %.64s: %w", reply.Host, err)
	case reply.UID != os.Geteuid(), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("permission denied: capture runs as another user (uid %d, this is %d): run both as one user, or share a group (ipc.group): %w", reply.UID, os.Geteuid(), err)
	case errors.Is(err, gpuring.ErrNotShared):
		return fmt.Errorf("%s is not shared with capture: %w", dir, err)
	}
	return err
}

// mapped reads a ring in this process's memory.
type mapped struct{ reader gpuring.Reader }

func (m *mapped) reaches() reach { return reach{transport: SHM} }

func (m *mapped) lease(_ context.Context, t gpuring.Ticket) (Lease, error) {
	l, err := m.reader.Lease(t)
	if err != nil {
		return nil, err
	}
	return inHost{l}, nil
}

func (m *mapped) Close() error { return m.reader.Close() }
