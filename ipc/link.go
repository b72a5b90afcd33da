package ipc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// LinkOptions adjust a Link; the zero value is usual.
type LinkOptions struct {
	Dir     string        // where the ring's files are seen here, when not where capture sees them
	Allow   []Transport   // transports that may be used; all when empty
	Timeout time.Duration // of attaching, and of one frame's copy; 2 s when zero
	Logger  *slog.Logger  // none: nothing is logged
}

const defaultTimeout = 2 * time.Second

// Link is a consumer's side of one camera's ring. It attaches when the first frame is leased, and again by
// itself: when capture starts a new ring, when the ring was closed or this reader declared dead, or when the
// transport breaks. Its methods may be called from several goroutines.
type Link struct {
	nc                    *nats.Conn
	rig, camera, identity string
	host                  string
	opts                  LinkOptions
	log                   *slog.Logger

	attaching chan struct{} // held by the one that attaches; guards the three below
	asked     string        // the ring of a frame that capture did not have
	askedAt   time.Time
	broken    map[Transport]string // why transports failed on the ring with brokenAt's nonce
	brokenAt  string

	mu     sync.Mutex
	now    *attachment // nil before the first attach and after a break
	status LinkStatus
	closed bool
}

// NewLink makes the link of a consumer, named identity (1 to 64 bytes, for people), to a camera.
func NewLink(nc *nats.Conn, rig, camera, identity string, opts LinkOptions) (*Link, error) {
	if err := errors.Join(CheckToken("rig", rig), CheckToken("camera", camera)); err != nil {
		return nil, err
	}
	if identity == "" || len(identity) > 64 {
		return nil, fmt.Errorf("link: identity: %w: 1 to 64 bytes expected", ErrInvalid)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	return &Link{
		nc: nc, rig: rig, camera: camera, identity: identity, host: hostname(), opts: opts,
		log: opts.Logger.With("camera", camera), attaching: make(chan struct{}, 1),
		status: LinkStatus{Camera: camera, Reason: "no frame was leased yet"},
	}, nil
}

// Lease returns the pixels of f, held until Release. ErrStale: the frame is gone, or is of a ring that is not
// the camera's any more; count it as dropped. ErrNoCapture and ErrAttach: the ring cannot be reached now; the
// next frame tries again. It waits only to attach or to fetch a copy, each for the link's timeout at most.
func (l *Link) Lease(ctx context.Context, f Frame) (gpuring.Lease, error) {
	for again := false; ; again = true {
		a, err := l.attached(ctx, f.Ring)
		if err != nil {
			return nil, err
		}
		lease, err := a.lease(ctx, f.Ticket())
		if err == nil {
			return lease, nil
		}
		if !l.abandon(ctx, a, err) || again {
			return nil, err
		}
	}
}

// Attach makes sure that the link is attached, without a frame.
func (l *Link) Attach(ctx context.Context) error {
	_, err := l.attached(ctx, "")
	return err
}

// within bounds one attach or one copy by the link's timeout.
func (l *Link) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.opts.Timeout)
}

// abandon gives the attachment up after err, unless err is about the frame only. It reports whether trying
// again makes sense.
func (l *Link) abandon(ctx context.Context, a *attachment, err error) bool {
	for _, passing := range []error{gpuring.ErrStale, ErrTransfer, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, passing) {
			return false
		}
	}
	if !expected(err) && a.transport != Copy {
		l.mark(ctx, a, err)
	}
	l.mu.Lock()
	mine := l.now == a
	if mine {
		l.now = nil
		l.status.Transport, l.status.Reason = "", "the link broke: "+err.Error()
	}
	l.mu.Unlock()
	if mine {
		l.log.Info("link broke; attaching again", "transport", a.transport, "error", err)
	}
	a.retire()
	return true
}

// expected says that a ring or reader came to its end in the usual ways, so that the transport is not to blame.
func expected(err error) bool {
	return errors.Is(err, gpuring.ErrClosed) || errors.Is(err, gpuring.ErrRevoked)
}

// mark keeps the transport from being tried again on this ring.
func (l *Link) mark(ctx context.Context, a *attachment, err error) {
	if l.lock(ctx) != nil {
		return
	}
	defer l.unlock()
	if l.brokenAt != a.nonce || l.broken == nil {
		l.broken, l.brokenAt = map[Transport]string{}, a.nonce
	}
	l.broken[a.transport] = "broke on this ring: " + err.Error()
}

func (l *Link) lock(ctx context.Context) error {
	select {
	case l.attaching <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ipc: attach to %s: %w", l.camera, ctx.Err())
	}
}

func (l *Link) unlock() { <-l.attaching }

// Close gives the ring up; leases that are still out stay good. It is idempotent.
func (l *Link) Close() error {
	l.mu.Lock()
	a := l.now
	l.now, l.closed = nil, true
	l.status.Transport, l.status.Reason = "", "closed"
	l.mu.Unlock()
	if a != nil {
		a.retire()
	}
	return nil
}
