package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Back-off of a Reopener: the first wait, and the longest.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 8 * time.Second
)

// State is what a Reopener reports.
type State int

// States of a live source, in the order in which they follow one another.
const (
	Lost     State = iota // frames stopped; Event.Err says why
	Retrying              // the next attempt starts after Event.Wait; Event.Err is what the last one said
	Back                  // frames flow again
)

func (s State) String() string { return [...]string{"lost", "retrying", "back"}[s] }

// Event is one change of state.
type Event struct {
	State   State
	Err     error
	Wait    time.Duration
	Attempt int // attempts to reopen so far
}

// ReopenOptions of a Reopener. Open is required.
type ReopenOptions struct {
	Open   OpenFunc
	Notify func(Event)    // called from Grab; may be nil
	Clock  Clock          // default: the system's
	Jitter func() float64 // in [0, 1); default: random
	Logger *slog.Logger
}

// Reopener keeps a live source alive: when it is lost, Grab reopens it with growing pauses until it is back
// or the context ends. When the camera comes back with another size or format, Grab returns ErrGeometry
// once and Info holds the new one.
type Reopener struct {
	opts   ReopenOptions
	src    Source // nil while the camera is away
	info   Info
	closed bool
}

// NewReopener opens the source, waiting for a camera that is not there yet. It gives up when the context ends,
// and at once on ErrSpec and ErrUnsupported, which no waiting cures.
func NewReopener(ctx context.Context, opts ReopenOptions) (*Reopener, error) {
	if opts.Clock == nil {
		opts.Clock = systemClock{}
	}
	if opts.Jitter == nil {
		opts.Jitter = rand.Float64
	}
	if opts.Notify == nil {
		opts.Notify = func(Event) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Reopener{opts: opts}
	src, err := opts.Open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		r.report(Event{State: Lost, Err: err})
		if src, err = r.reopen(ctx, err); err != nil {
			return nil, err
		}
	}
	r.src, r.info = src, src.Info()
	return r, nil
}

// Info describes the frames; after ErrGeometry the new ones.
func (r *Reopener) Info() Info { return r.info }

// Grab grabs the next frame of the camera, however often it has to be reopened for that.
func (r *Reopener) Grab(ctx context.Context) (int64, error) {
	for {
		if err := r.ready(ctx); err != nil {
			return 0, err
		}
		at, err := r.src.Grab(ctx)
		if errors.Is(err, ErrGeometry) {
			r.info = r.src.Info()
		}
		if err == nil || ctx.Err() != nil || !curable(err) {
			return at, err
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: %s: the stream ended", ErrLost, r.info.Name)
		}
		r.report(Event{State: Lost, Err: err})
		r.drop()
		src, err := r.reopen(ctx, err)
		if err != nil {
			return 0, err
		}
		if err := r.adopt(src); err != nil {
			return 0, err
		}
	}
}

// ready makes sure that there is a source: a context that ended while the camera was away left none.
func (r *Reopener) ready(ctx context.Context) error {
	if r.closed {
		return ErrClosed
	}
	if r.src != nil {
		return ctx.Err()
	}
	src, err := r.reopen(ctx, fmt.Errorf("%w: %s", ErrLost, r.info.Name))
	if err != nil {
		return err
	}
	return r.adopt(src)
}

func (r *Reopener) adopt(src Source) error {
	was := r.info
	r.src, r.info = src, src.Info()
	if !was.SameGeometry(r.info) {
		return fmt.Errorf("%w: %s was %s and is now %s", ErrGeometry, was.Name, was.geometry(), r.info.geometry())
	}
	return nil
}

// reopen tries until the source opens; why is what broke it.
func (r *Reopener) reopen(ctx context.Context, why error) (Source, error) {
	wait := firstWait
	for attempt := 0; ; attempt++ {
		if !curable(why) {
			return nil, why
		}
		pause := wait/2 + time.Duration(r.opts.Jitter()*float64(wait)/2)
		r.report(Event{State: Retrying, Err: why, Wait: pause, Attempt: attempt})
		if err := r.opts.Clock.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		src, err := r.opts.Open(ctx)
		if err == nil {
			r.report(Event{State: Back, Attempt: attempt + 1})
			return src, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		why, wait = err, min(2*wait, lastWait)
	}
}

// curable tells errors that a later attempt may not meet again.
func curable(err error) bool {
	for _, final := range []error{ErrSpec, ErrUnsupported, ErrClosed, ErrGeometry} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

func (r *Reopener) report(e Event) {
	log := r.opts.Logger.With("state", e.State.String(), "attempt", e.Attempt)
	switch e.State {
	case Back:
		log.Info("camera is back")
	case Retrying:
		log.Debug("camera is away", "retry_in", e.Wait, "reason", e.Err)
	default:
		log.Warn("camera is lost", "reason", e.Err)
	}
	r.opts.Notify(e)
}

func (r *Reopener) drop() {
	if r.src == nil {
		return
	}
	if err := r.src.Close(); err != nil {
		r.opts.Logger.Warn("lost camera did not close cleanly", "reason", err)
	}
	r.src = nil
}

// Retrieve writes the grabbed frame into dst; ErrNoFrame while the camera is away.
func (r *Reopener) Retrieve(dst []byte) error {
	if r.src == nil {
		return ErrNoFrame
	}
	return r.src.Retrieve(dst)
}

// Skip does nothing: a live source has no position.
func (r *Reopener) Skip(int64) error { return nil }

// Close gives the source back.
func (r *Reopener) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.src == nil {
		return nil
	}
	return r.src.Close()
}
