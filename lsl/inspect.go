package lsl

import (
	"context"
	"net"
)

// Info returns what the stream is published as, with its session filled in.
func (o *Outlet) Info() StreamInfo { return o.info }

// UID returns the id of this run of the stream; it is new for each outlet.
func (o *Outlet) UID() string { return o.id.uid }

// TCPPort returns the port of the data socket.
func (o *Outlet) TCPPort() int {
	if a, ok := o.data.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// ServicePort returns the UDP port that answers time probes and the queries of readers that know this host.
func (o *Outlet) ServicePort() int {
	if a, ok := o.service.conn.LocalAddr().(*net.UDPAddr); ok {
		return a.Port
	}
	return 0
}

// HaveConsumers says whether a reader is subscribed: without one, making samples is wasted work.
func (o *Outlet) HaveConsumers() bool { return o.journal.readers() > 0 }

// WaitForConsumers returns when a reader is subscribed, with ErrClosed when the outlet closes, or with the
// context's error.
func (o *Outlet) WaitForConsumers(ctx context.Context) error {
	select {
	case <-o.journal.readyChan():
		return nil
	case <-o.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// groups is the number of multicast memberships.
func (o *Outlet) groups() int {
	if o.lobby == nil {
		return 0
	}
	return o.lobby.joined
}

// Stats returns a snapshot.
func (o *Outlet) Stats() Stats {
	return Stats{Groups: o.groups(), Refused: int(o.refused.Load()), Readers: o.readers.stats(o.journal)}
}
