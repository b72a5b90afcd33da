package ipc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"facetrack/gpuring"
)

// attachment is a channel to one ring. When the link moves on it is retired, and closes with its last lease,
// so that work on frames of the old ring can end.
type attachment struct {
	channel
	reach
	ring, nonce string
	frameBytes  int       // of a frame of that ring
	rung        Transport // that made the channel
	link        *Link

	mu      sync.Mutex
	leases  int
	torn    int // leases in a row that ended with ErrTorn
	retired bool
}

// reach says how a channel reaches the pixels, for people.
type reach struct {
	transport Transport
	sync      gpuring.Sync // device memory only, as the next
	gpu       string
}

func (r reach) praise() string {
	if r.gpu == "" {
		return "the fastest transport"
	}
	return fmt.Sprintf("the fastest transport: proved on %s, waits by %s", r.gpu, r.sync)
}

// tornLimit is how many leases in a row may end with ErrTorn: one is an accident of one frame, for which the frame is
// dropped; this many are a way of synchronising that does not work.
const tornLimit = 3

func (a *attachment) lease(ctx context.Context, t gpuring.Ticket) (Lease, error) {
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
		a.link.log.Warn("channel not closed", "ring", a.ring, "transport", a.transport, "error", err)
	}
}

// released looks at how a lease ended. Device memory that fails, or that is torn again and again, breaks the link.
func (a *attachment) released(err error) {
	a.mu.Lock()
	if errors.Is(err, gpuring.ErrTorn) {
		a.torn++
	} else if err == nil {
		a.torn = 0
	}
	broken := a.torn >= tornLimit || errors.Is(err, gpuring.ErrDevice)
	a.mu.Unlock()
	if broken {
		a.link.abandon(a, err)
	}
}

// counted is a lease that its attachment waits for.
type counted struct {
	Lease
	attachment *attachment
	once       sync.Once
	err        error
}

func (c *counted) Host() ([]byte, error) {
	pixels, err := c.Lease.Host()
	if err != nil {
		c.attachment.link.abandon(c.attachment, err)
	}
	return pixels, err
}

func (c *counted) Release() error {
	c.once.Do(func() {
		c.err = c.Lease.Release()
		c.attachment.released(c.err)
		c.attachment.leave()
	})
	return c.err
}
