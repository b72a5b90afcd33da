package gpuring_test

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

// tally is what a watching reader has seen so far.
type tally struct {
	Frames     int // leased, whole, and valid until Release
	Stale      int // refused
	Revoked    int // times that the reader was revoked
	Torn       int // frames whose pixels were not those of the ticket
	Violations int // torn frames that the ring called valid
}

// stream publishes as fast as it can and tells every ticket.
func (p *puppet) stream() {
	for {
		ticket, err := publishPattern(p.w)
		if err == nil {
			p.say(answer{Ticket: &ticket})
			if ticket.Seq%64 == 0 {
				s := p.w.Stats()
				p.say(answer{Stats: &s})
			}
		} else if !errors.Is(err, gpuring.ErrNoFreeSlot) {
			p.say(answer{Err: err.Error()})
			return
		}
	}
}

// churn makes rings and closes them until it is killed.
func (p *puppet) churn(o gpuring.Options) {
	p.say(answer{})
	for {
		w, err := gpuring.Create(o)
		if err != nil {
			p.say(answer{Err: err.Error()})
			return
		}
		for range 3 {
			_, _ = publishPattern(w)
		}
		_ = w.Close()
	}
}

// grab attaches, leases everything, and closes until it is killed.
func (p *puppet) grab(d gpuring.Descriptor, tickets []gpuring.Ticket) {
	p.say(answer{})
	for {
		p.attach(d)
		p.hold(tickets)
		p.release()
		p.hold(tickets)
		_ = p.r.Close()
		p.held, p.frames = nil, nil
	}
}

// watch reads frames until it is killed: mostly the newest, now and then one that is likely to be overwritten.
func (p *puppet) watch() answer {
	fresh, recent := make(chan gpuring.Ticket, 1), make([]gpuring.Ticket, 0, 8)
	go func() {
		for p.lines.Scan() {
			var cmd command
			if json.Unmarshal(p.lines.Bytes(), &cmd) != nil {
				os.Exit(2)
			}
			select {
			case <-fresh: // only the newest waits
			default:
			}
			fresh <- cmd.Tickets[0]
		}
		os.Exit(0)
	}()
	var sum tally
	for n := 0; ; n++ {
		ticket := <-fresh
		if recent = append(recent, ticket); len(recent) == cap(recent) {
			recent = append(recent[:0], recent[1:]...)
		}
		if n%3 == 2 {
			ticket = recent[0]
		}
		if err := p.look(ticket, &sum); err != nil {
			return answer{Err: err.Error()}
		}
		if n%8 == 0 {
			p.say(answer{Tally: &sum})
		}
	}
}

// look leases one frame, works on it for a while, and counts what came of it.
func (p *puppet) look(ticket gpuring.Ticket, sum *tally) error {
	lease, err := p.r.Lease(ticket)
	switch {
	case errors.Is(err, gpuring.ErrStale):
		sum.Stale++
		return nil
	case errors.Is(err, gpuring.ErrRevoked):
		return p.again(sum)
	case err != nil:
		return err
	}
	pixels := lease.View().Host
	whole := ringtest.Whole(pixels, ticket.Seq)
	time.Sleep(2 * time.Millisecond) // the work: long enough for a fast writer to come round
	whole = ringtest.Whole(pixels, ticket.Seq) && whole
	valid, released := lease.Valid(), lease.Release()
	switch {
	case !whole && (valid == nil || released == nil):
		sum.Violations++
	case whole && released == nil:
		sum.Frames++
	}
	if !whole {
		sum.Torn++
	}
	if errors.Is(released, gpuring.ErrRevoked) {
		return p.again(sum)
	}
	return released
}

// again attaches anew after a revocation.
func (p *puppet) again(sum *tally) error {
	sum.Revoked++
	if err := p.r.Close(); err != nil {
		return err
	}
	if a := p.attach(p.desc); a.Err != "" {
		return errors.New(a.Err)
	}
	return nil
}
