package lsl

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
)

const retryPause = 100 * time.Millisecond // after a socket error that is not the end, e.g. out of memory

// serveService answers info and time queries on the UDP service port.
func (o *Outlet) serveService() {
	o.receive(o.service, func(b []byte, from netip.AddrPort, cm *ipv4.ControlMessage) {
		arrived := Now()
		if to, ok := netip.AddrFromSlice(cm.Dst.To4()); !ok || !o.nets.serves(to) {
			return
		}
		switch q := parseDatagram(b).(type) {
		case infoQuery:
			o.answerInfo(q, from.Addr())
		case timeQuery:
			o.send(q.reply(arrived, Now), from)
		}
	})
}

// serveDiscovery answers info queries sent to the groups, to broadcast, or to the shared port.
func (o *Outlet) serveDiscovery() {
	o.receive(o.discovery, func(b []byte, from netip.AddrPort, cm *ipv4.ControlMessage) {
		if !o.nets.hears(cm.IfIndex, from.Addr()) {
			return
		}
		if q, ok := parseDatagram(b).(infoQuery); ok {
			o.answerInfo(q, from.Addr())
		}
	})
}

// receive hands each datagram to handle until the socket is closed.
func (o *Outlet) receive(c *ipv4.PacketConn, handle func([]byte, netip.AddrPort, *ipv4.ControlMessage)) {
	buf := make([]byte, 64<<10)
	for {
		n, cm, src, err := c.ReadFrom(buf)
		if err != nil {
			if o.ended(err) {
				return
			}
			continue
		}
		if from, ok := src.(*net.UDPAddr); ok && cm != nil {
			p := from.AddrPort()
			handle(buf[:n], netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), cm)
		}
	}
}

// answerInfo sends from the service socket, also for queries heard elsewhere: readers take the sender's address for
// the address of the stream, and this one is bound as the TCP socket is.
func (o *Outlet) answerInfo(q infoQuery, from netip.Addr) {
	if o.matcher.matches(q.query) {
		b, to := q.reply(from, o.shortInfo)
		o.send(b, to)
	}
}

func (o *Outlet) send(b []byte, to netip.AddrPort) {
	_, err := o.service.WriteTo(b, nil, net.UDPAddrFromAddrPort(to))
	if err != nil && !errors.Is(err, net.ErrClosed) {
		o.log.Debug("lsl: answer not sent", "to", to.String(), "error", err)
	}
}

// ended says whether a serving loop is over; otherwise it pauses, so that a lasting error does not spin.
func (o *Outlet) ended(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return true
	}
	o.log.Warn("lsl: socket error, retrying", "error", err)
	select {
	case <-o.done:
		return true
	case <-time.After(retryPause):
		return false
	}
}
