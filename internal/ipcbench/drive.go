package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

// spec is one round.
type spec struct {
	frames   int           // that count; 0: as many as the time allows
	warmUp   int           // frames before them
	limit    time.Duration // ends the round early
	interval time.Duration // between frames; 0: none
	window   int           // frames under way at most
	lanes    int
	passes   int
	timed    bool // paced, fresh stamps, times
	every    int  // extra transports take part in every so many rounds; 0: in all
}

func (p plan) paced(rate int) spec {
	return spec{
		frames: p.perRound, warmUp: p.warmUp, limit: p.roundLimit, interval: time.Second / time.Duration(rate), window: 1, lanes: 1, passes: 1, timed: true,
		every: p.extraEvery,
	}
}

func (p plan) full(passes int) spec {
	return spec{warmUp: p.warmUp, limit: p.saturateIn, window: window, lanes: lanes, passes: passes}
}

// outcome is what a round gave.
type outcome struct {
	tally
	Seconds float64 // from the first frame that counts to the last acknowledgement
	Counted int     // frames that count
	UpHere  int64   // bytes that this process passed to upload calls
}

// rate is the frames per second that were reached.
func (o outcome) rate() float64 { return float64(o.Counted) / max(o.Seconds, 1e-9) }

// runner makes rounds of one transport and format.
type runner interface {
	run(ctx context.Context, s spec) (outcome, error)
}

// ownRunner has this process publish and the readers read.
type ownRunner struct {
	p       *producer
	f       *feed
	readers []*child
}

func (r *ownRunner) run(ctx context.Context, s spec) (out outcome, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, c := range r.readers {
		go func() {
			select {
			case <-c.ended:
				cancel(c.died())
			case <-ctx.Done():
			}
		}()
	}
	acks, err := r.p.acksOf(r.f.camera)
	if err != nil {
		return out, err
	}
	o := order{Op: opRound, Name: r.f.name(), Round: roundOrder{Lanes: s.lanes, Passes: s.passes, WarmUp: s.warmUp, Timed: s.timed}}
	for _, c := range r.readers {
		if _, err := c.order(ctx, o); err != nil {
			return out, err
		}
	}
	up := r.f.bytesUp()
	if err := r.drive(ctx, s, acks, &out); err != nil {
		return out, fmt.Errorf("%s: %w", r.f.name(), err)
	}
	out.UpHere = r.f.bytesUp() - up
	for _, c := range r.readers {
		a, err := c.order(ctx, order{Op: opFinish})
		if err != nil {
			return out, err
		}
		if a.Read != nil {
			out.add(*a.Read)
		}
	}
	return out, nil
}

// drive publishes frames as the spec says, and waits for the last acknowledgement.
func (r *ownRunner) drive(ctx context.Context, s spec, acks <-chan uint64, out *outcome) error {
	flow := newFlow(acks, len(r.readers), r.f.seq)
	sent, begin := 0, time.Now()
	for n := 0; s.frames == 0 || n < s.frames+s.warmUp; n++ {
		if n > s.warmUp+1 && time.Since(begin) > s.limit {
			break
		}
		if err := flow.until(ctx, s.window-1); err != nil {
			return err
		}
		if n == s.warmUp {
			begin = time.Now()
		}
		next := begin.Add(time.Duration(n-s.warmUp) * s.interval)
		if wait := time.Until(next); s.interval > 0 && n >= s.warmUp && wait > 0 {
			time.Sleep(wait)
		}
		if err := r.f.send(ctx, s.timed); err != nil {
			return err
		}
		flow.sent()
		sent++
	}
	err := flow.until(ctx, 0)
	out.Seconds, out.Counted = time.Since(begin).Seconds(), sent-s.warmUp
	return err
}

// flow knows which frames are under way. The window reaches from the oldest of them to the newest: a frame that others have
// overtaken may not have been leased yet, and its slot must not be written again.
type flow struct {
	acks    <-chan uint64 // a frame's number, from each reader
	readers int
	left    map[uint64]int // readers that have not acknowledged a frame
	oldest  uint64
	next    uint64 // to be sent
}

var errSilent = errors.New("a frame was not acknowledged in time")

func newFlow(acks <-chan uint64, readers int, next uint64) *flow {
	return &flow{acks: acks, readers: readers, left: map[uint64]int{}, oldest: next, next: next}
}

func (f *flow) sent() {
	f.left[f.next] = f.readers
	f.next++
}

// until waits until the window is no longer than most.
func (f *flow) until(ctx context.Context, most int) error {
	if f.next-f.oldest <= uint64(most) {
		return nil
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for f.next-f.oldest > uint64(most) {
		select {
		case seq := <-f.acks:
			f.arrived(seq)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return errSilent
		}
	}
	return nil
}

func (f *flow) arrived(seq uint64) {
	if f.left[seq]--; f.left[seq] <= 0 {
		delete(f.left, seq)
	}
	for f.oldest < f.next && f.left[f.oldest] == 0 {
		f.oldest++
	}
}

// acksOf listens to the acknowledgements of a camera, from its first round on.
func (p *producer) acksOf(camera string) (<-chan uint64, error) {
	if ch := p.acks[camera]; ch != nil {
		return ch, nil
	}
	ch := make(chan uint64, 1024)
	_, err := p.bus.Subscribe(ackSubject(camera), func(m *nats.Msg) {
		if a, err := ipc.DecodeAck(m.Data); err == nil {
			ch <- a.Seq
		}
	})
	if err != nil {
		return nil, err
	}
	p.acks[camera] = ch
	return ch, p.bus.FlushTimeout(patience)
}
