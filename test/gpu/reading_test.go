//go:build cuda

package gpu

import (
	"errors"
	"os"
	"sync"
	"time"

	"facetrack/gpuring"
)

// post is a reader child's letter box: one listener for all of its life, and the inbox of the order that runs.
var post struct {
	sync.Once
	mu  sync.Mutex
	box *inbox
}

func inboxFor(rings, keep int) *inbox {
	box := newInbox(rings, keep)
	post.mu.Lock()
	post.box = box
	post.mu.Unlock()
	post.Do(func() { go listen(os.NewFile(firstPipe, "tickets")) })
	return box
}

// listen reads tickets until the pipe ends.
func listen(pipe *os.File) {
	buf := make([]byte, 128*ticketBytes)
	rest := 0
	for {
		n, err := pipe.Read(buf[rest:])
		if err != nil {
			return
		}
		n += rest
		whole := n - n%ticketBytes
		post.mu.Lock()
		post.box.put(buf[:whole])
		post.mu.Unlock()
		rest = copy(buf, buf[whole:n])
	}
}

// read checks frames of all rings until it is told to stop, and reports.
func (p *puppet) read(o order) {
	box := inboxFor(len(o.From), o.From[0].Geometry.Slots)
	var rings []*reader
	for _, d := range o.From {
		r, err := p.newReader(o, d)
		if err != nil {
			p.say(answer{Err: err.Error()})
			return
		}
		rings = append(rings, r)
	}
	err := p.checkAll(rings, box, &p.sums)
	for _, r := range rings {
		if closed := r.close(); err == nil {
			err = closed
		}
	}
	p.say(answer{Err: text(err), Read: &p.sums})
}

func (p *puppet) checkAll(rings []*reader, box *inbox, sums *tally) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	report := time.Now()
	for !p.stopped() {
		select {
		case <-p.quit:
		case <-box.news:
		case <-tick.C:
			if err := lookAfter(rings, sums); err != nil {
				return err
			}
		}
		if err := checkBatch(rings, box.take(), sums); err != nil {
			return err
		}
		if time.Since(report) > 50*time.Millisecond {
			report = time.Now()
			p.say(answer{Read: count(rings, sums)})
		}
	}
	return nil
}

// checkBatch queues the checks of all tickets, ring beside ring, before it waits for the first.
func checkBatch(rings []*reader, tickets []ticket, sums *tally) error {
	for _, k := range tickets {
		r := rings[k.Ring]
		if r.closed || k.Writer != r.d.Generation {
			continue
		}
		t := k.of(r.d)
		r.last = &t
		if err := r.queue(t, sums); err != nil {
			return err
		}
	}
	for _, r := range rings {
		if err := r.fetch(); err != nil {
			return err
		}
	}
	for _, r := range rings {
		if err := r.settle(sums); err != nil {
			return err
		}
	}
	return nil
}

// lookAfter asks whether the rings are still there; those that give no tickets any more would not tell.
func lookAfter(rings []*reader, sums *tally) error {
	for _, r := range rings {
		if r.last == nil || r.closed {
			continue
		}
		lease, err := r.r.Lease(*r.last)
		switch {
		case err == nil:
			_ = lease.Release() // nothing was computed from it
		case errors.Is(err, gpuring.ErrClosed):
			r.closed = true
		case errors.Is(err, gpuring.ErrRevoked):
			if err := r.reopen(sums); err != nil {
				return err
			}
		}
	}
	return nil
}

func count(rings []*reader, sums *tally) *tally {
	copied := *sums
	for _, r := range rings {
		if !r.closed {
			copied.Rings++
		}
	}
	return &copied
}
