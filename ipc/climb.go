package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// askAgain is how long a frame of an unknown ring is refused without asking capture for that ring again.
const askAgain = 100 * time.Millisecond

// current returns the attachment to the ring, nil when there is none; any will do for an empty one.
func (l *Link) current(ring string) (*attachment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errLinkClosed
	}
	if l.now != nil && ring == "" {
		return l.now, nil
	}
	return l.to(ring), nil
}

// attached returns an attachment to the ring, made now if need be; an empty ring is whichever capture has.
func (l *Link) attached(ctx context.Context, ring string) (*attachment, error) {
	if a, err := l.current(ring); a != nil || err != nil {
		return a, err
	}
	waiting, cancel := l.within(ctx)
	defer cancel()
	if err := l.lock(waiting); err != nil {
		return nil, err
	}
	defer l.unlock()
	if a, err := l.current(ring); a != nil || err != nil { // somebody else was faster
		return a, err
	}
	if ring != "" && ring == l.asked && time.Since(l.askedAt) < askAgain {
		return nil, fmt.Errorf("%w: capture has another ring than %s", ErrOtherRing, ring)
	}
	a, err := l.attach(ctx)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	if ring != "" && a.ring != ring {
		l.asked, l.askedAt = ring, time.Now()
		return nil, fmt.Errorf("%w: the ring is %s now, not %s", ErrOtherRing, a.ring, ring)
	}
	return a, nil
}

// attach asks capture for its ring and opens it, unless it is the one that is open. A ring that ends under it is no
// reason for a slower transport: capture is asked once more, and may have a new one.
func (l *Link) attach(ctx context.Context) (*attachment, error) {
	a, err := l.attachOnce(ctx, false)
	if errors.Is(err, gpuring.ErrClosed) && !l.isClosed() {
		return l.attachOnce(ctx, true)
	}
	return a, err
}

func (l *Link) attachOnce(ctx context.Context, last bool) (*attachment, error) {
	reply, err := l.request(ctx, opAttach, "none")
	if err != nil {
		return nil, fmt.Errorf("ipc: attach to %s: %w", l.camera, err)
	}
	l.mu.Lock()
	now := l.now
	l.mu.Unlock()
	if now != nil && now.nonce == reply.Ring.Nonce {
		return now, nil
	}
	a, attempts, err := l.climb(ctx, reply, last)
	if err != nil {
		return nil, err
	}
	return a, l.adopt(a, attempts)
}

// climb tries the rungs from the fastest. A rung that finds the ring ended ends the climb, unless this is the last one.
func (l *Link) climb(ctx context.Context, reply *AttachReply, last bool) (*attachment, []Attempt, error) {
	var attempts []Attempt
	var ended error
	for _, r := range rungs() {
		t := r.transport()
		ch, err := l.try(ctx, r, reply)
		if err == nil {
			a := &attachment{
				channel: ch, reach: ch.reaches(), ring: reply.Ring.Ring, nonce: reply.Ring.Nonce, frameBytes: reply.Ring.Geometry.FrameBytes(),
				rung: t, link: l,
			}
			return a, attempts, nil
		}
		if ctx.Err() != nil { // no other rung helps
			return nil, nil, fmt.Errorf("%w of %s: %s: %w", ErrAttach, l.camera, t, err)
		}
		if errors.Is(err, gpuring.ErrClosed) {
			if ended = fmt.Errorf("%w: it has ended: %s: %w", ErrNoCapture, t, err); !last {
				break
			}
		}
		attempts = append(attempts, Attempt{Transport: t, Reason: err.Error()})
	}
	if ended != nil {
		return nil, nil, ended
	}
	return nil, nil, fmt.Errorf("%w of %s: %s", ErrAttach, l.camera, reasons(attempts))
}

func (l *Link) try(ctx context.Context, r rung, reply *AttachReply) (channel, error) {
	t := r.transport()
	if len(l.opts.Allow) > 0 && !slices.Contains(l.opts.Allow, t) {
		return nil, errors.New("not allowed by this process's configuration")
	}
	if why := l.marked(t, reply.Ring.Nonce); why != "" {
		return nil, errors.New(why)
	}
	return r.attach(ctx, l, reply)
}

func reasons(attempts []Attempt) string {
	parts := make([]string, len(attempts))
	for i, a := range attempts {
		parts[i] = string(a.Transport) + ": " + a.Reason
	}
	return strings.Join(parts, "; ")
}

func (l *Link) attachRequest(op, session string) *AttachRequest {
	accepts := l.opts.Allow
	if len(accepts) == 0 {
		accepts = Ladder()
	}
	return &AttachRequest{Op: op, Identity: l.identity, Session: session, Host: l.host, PID: os.Getpid(), Accepts: accepts}
}

func (l *Link) request(ctx context.Context, op, session string) (*AttachReply, error) {
	return l.ask(ctx, l.attachRequest(op, session))
}

// ask sends a request to capture on .ring. ErrNoCapture when nobody is there.
func (l *Link) ask(ctx context.Context, r *AttachRequest) (*AttachReply, error) {
	if !l.nc.IsConnected() {
		return nil, fmt.Errorf("%w: %w", ErrAttach, nats.ErrDisconnected)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := l.within(ctx)
	defer cancel()
	answer, err := l.nc.RequestWithContext(ctx, Subject(l.rig, l.camera, KindRing), data)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("%w: start capture for camera %s of rig %s", ErrNoCapture, l.camera, l.rig)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: capture did not answer: %w", ErrAttach, err)
	}
	reply, err := DecodeAttachReply(answer.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAttach, err)
	}
	if reply.Error == "" {
		return &reply, nil
	}
	err = refusal(reply.Error, reply.Text)
	if errors.Is(err, gpuring.ErrClosed) {
		err = fmt.Errorf("%w: it is ending: %w", ErrNoCapture, err)
	}
	return nil, err
}
