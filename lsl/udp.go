package lsl

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	retryPause  = 100 * time.Millisecond // after a socket error that is not the end, e.g. out of memory
	maxDatagram = 8 << 10                // bytes; what is as long or longer is no query
)

// udpSocket receives datagrams until it is closed.
type udpSocket struct {
	conn *ipv4.PacketConn
	log  *slog.Logger
	done chan struct{}
	once sync.Once
}

func newUDPSocket(conn *ipv4.PacketConn, log *slog.Logger) *udpSocket {
	return &udpSocket{conn: conn, log: log, done: make(chan struct{})}
}

func (s *udpSocket) close() (err error) {
	s.once.Do(func() {
		close(s.done)
		err = s.conn.Close()
	})
	return err
}

// receive hands each datagram to handle until the socket is closed.
func (s *udpSocket) receive(handle func([]byte, netip.AddrPort, *ipv4.ControlMessage)) {
	buf := make([]byte, maxDatagram)
	for {
		n, cm, src, err := s.conn.ReadFrom(buf)
		if err != nil {
			if ended(err, s.done, s.log) {
				return
			}
			continue
		}
		if from, ok := src.(*net.UDPAddr); ok && cm != nil && n < len(buf) {
			p := from.AddrPort()
			handle(buf[:n], netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), cm)
		}
	}
}

// serveService answers info and time queries on the UDP service port.
func (o *Outlet) serveService() {
	o.service.receive(func(b []byte, from netip.AddrPort, cm *ipv4.ControlMessage) {
		arrived := Now()
		if to, ok := netip.AddrFromSlice(cm.Dst.To4()); !ok || !o.nets.serves(to) {
			return
		}
		switch q := parseDatagram(b).(type) {
		case infoQuery:
			o.answerInfo(q, from.Addr())
			if o.lobby != nil {
				for _, other := range o.lobby.ward(o) {
					other.answerInfo(q, from.Addr())
				}
			}
		case timeQuery:
			o.send(q.reply(arrived, Now), from)
		}
	})
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
	_, err := o.service.conn.WriteTo(b, nil, net.UDPAddrFromAddrPort(to))
	if err != nil && !errors.Is(err, net.ErrClosed) {
		o.log.Debug("lsl: answer not sent", "to", to.String(), "error", err)
	}
}

// ended says whether a serving loop is over; otherwise it pauses, so that a lasting error does not spin.
func ended(err error, done <-chan struct{}, log *slog.Logger) bool {
	if errors.Is(err, net.ErrClosed) {
		return true
	}
	log.Warn("lsl: socket error, retrying", "error", err)
	select {
	case <-done:
		return true
	case <-time.After(retryPause):
		return false
	}
}
