package lsl

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const requestTimeout = 10 * time.Second

// serveData accepts readers on the TCP data port.
func (o *Outlet) serveData() {
	for {
		conn, err := o.data.AcceptTCP()
		if err != nil {
			if ended(err, o.done, o.log) {
				return
			}
			continue
		}
		if !o.nets.serves(addrOf(conn.LocalAddr()).Addr()) || !o.conns.add(conn) {
			o.refused.Add(1)
			o.log.Debug("lsl: connection refused", "reader", conn.RemoteAddr().String(), "limit", o.opts.MaxConnections)
			_ = conn.Close()
			continue
		}
		o.running.Go(func() {
			defer o.conns.remove(conn)
			if err := o.serve(conn); err != nil {
				o.log.Debug("lsl: connection ended", "reader", conn.RemoteAddr().String(), "error", err)
			}
		})
	}
}

// serve reads one request and answers it.
func (o *Outlet) serve(conn *net.TCPConn) error {
	if err := conn.SetDeadline(time.Now().Add(o.opts.requestTimeout)); err != nil {
		return fmt.Errorf("lsl: set deadline: %w", err)
	}
	req, err := readRequest(bufio.NewReaderSize(conn, maxLine))
	if err != nil {
		return err
	}
	switch req.kind {
	case shortInfo:
		if o.matcher.matches(req.query) {
			_, err = conn.Write(o.shortInfo)
		}
	case fullInfo:
		_, err = conn.Write(o.fullInfo)
	case streamFeed:
		err = o.feed(conn, req.feed)
	}
	return err
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
