package ipc

import (
	"context"
	"log/slog"
	"sync"

	"facetrack/gpuring"
)

// attachment is a channel to one ring. When the link moves on it is retired, and closes with its last lease,
// so that work on frames of the old ring can end.
type attachment struct {
	channel
	ring, nonce string
	transport   Transport
	log         *slog.Logger

	mu      sync.Mutex
	leases  int
	retired bool
}

func (a *attachment) lease(ctx context.Context, t gpuring.Ticket) (gpuring.Lease, error) {
	if !a.enter() {
		return nil, gpuring.ErrClosed
	}
	lease, err := a.channel.lease(ctx, t)
	if err != nil {
		a.leave()
		return nil, err
	}
	return &counted{Lease: lease, attachment: a}, nil
}

func (a *attachment) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.retired {
		a.leases++
	}
	return !a.retired
}

func (a *attachment) leave() {
	a.mu.Lock()
	a.leases--
	last := a.retired && a.leases == 0
	a.mu.Unlock()
	if last {
		a.close()
	}
}

// retire takes no more leases, and closes the channel when the last one is given back.
func (a *attachment) retire() {
	a.mu.Lock()
	now := !a.retired && a.leases == 0
	a.retired = true
	a.mu.Unlock()
	if now {
		a.close()
	}
}

func (a *attachment) close() {
	if err := a.Close(); err != nil {
		a.log.Warn("channel not closed", "ring", a.ring, "transport", a.transport, "error", err)
	}
}

// counted is a lease that its attachment waits for.
type counted struct {
	gpuring.Lease
	attachment *attachment
	once       sync.Once
	err        error
}

func (c *counted) Release() error {
	c.once.Do(func() {
		c.err = c.Lease.Release()
		c.attachment.leave()
	})
	return c.err
}
