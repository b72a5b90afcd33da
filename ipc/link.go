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
	Timeout time.Duration // of one answer of capture, and of one frame's copy; 2 s when zero
	Sync    gpuring.Sync  // how to wait for uploads in device memory
	GPU     string        // that reads device memory: "auto" or "" is capture's, "off" none; else an ordinal or a UUID
	Logger  *slog.Logger  // none: nothing is logged
	Group   string        // of users whose rings are trusted, too; empty: this user's alone
	// Changed is called when frames begin to come by another transport, or by none any more; if it returns false, again at the next attach.
	// It may not call the link.
	Changed func(LinkStatus) bool
	// Stuck is called when work of this process on the GPU waits for an upload of a writer that was killed and can never
	// end: only a new process helps.
	Stuck func(error)
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

	attaching chan struct{} // held by the one that attaches; guards the two below
	asked     string        // the ring of a frame that capture did not have
	askedAt   time.Time

	mu       sync.Mutex
	now      *attachment // nil before the first attach and after a break
	old      *attachment // to the ring before, whose last frames may still come; nil once a frame of the next one was leased
	pools    map[pool]*downloads
	status   LinkStatus
	told     Transport            // of which Changed was told last
	broken   map[Transport]string // why rungs failed on the ring with brokenAt's nonce
	brokenAt string
	closed   bool
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
// next frame tries again. It waits only to attach or to fetch a copy; capture has the link's timeout for each answer.
func (l *Link) Lease(ctx context.Context, f Frame) (Lease, error) {
	for again := false; ; again = true {
		a, err := l.attached(ctx, f.Ring)
		if err != nil {
			return nil, err
		}
		lease, err := a.lease(ctx, f.Ticket())
		if err == nil {
			l.arrived(a)
			return lease, nil
		}
		if !l.abandon(a, err) || again {
			return nil, err
		}
	}
}

// Attach makes sure that the link is attached to the ring, without a frame; an empty ring is whichever it has or capture offers.
func (l *Link) Attach(ctx context.Context, ring string) error {
	_, err := l.attached(ctx, ring)
	return err
}

// within bounds one answer of capture by the link's timeout.
func (l *Link) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.opts.Timeout)
}

// abandon gives the attachment up after err, unless err is about the frame only. It reports whether trying
// again makes sense.
func (l *Link) abandon(a *attachment, err error) bool {
	for _, passing := range []error{gpuring.ErrStale, gpuring.ErrReleased, ErrTransfer, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, passing) {
			return false
		}
	}
	l.mu.Lock()
	if !expected(err) && a.rung != Copy {
		l.mark(a, err)
	}
	mine := l.now == a
	if mine {
		l.now = nil
		l.status.detach("the link broke: " + err.Error())
	}
	if l.old == a {
		l.old = nil
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

// mark keeps the rung from being tried again on this ring. The caller holds mu.
func (l *Link) mark(a *attachment, err error) {
	if l.brokenAt != a.nonce || l.broken == nil {
		l.broken, l.brokenAt = map[Transport]string{}, a.nonce
	}
	l.broken[a.rung] = "broke on this ring: " + err.Error()
}

// marked returns why the rung is not tried on this ring, "" when it is.
func (l *Link) marked(t Transport, nonce string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.brokenAt != nonce {
		return ""
	}
	return l.broken[t]
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

func (l *Link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close gives the ring up; leases that are still out stay good, but what they have in device memory is not downloaded any
// more. It is idempotent.
func (l *Link) Close() error {
	l.mu.Lock()
	ends := []*attachment{l.now, l.old}
	pools := l.pools
	l.now, l.old, l.pools, l.closed = nil, nil, nil, true
	l.status.detach("closed")
	l.mu.Unlock()
	for _, a := range ends {
		if a != nil {
			a.retire()
		}
	}
	var errs []error
	for _, p := range pools {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
