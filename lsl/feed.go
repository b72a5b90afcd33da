package lsl

import (
	"fmt"
	"io"
	"net"
	"time"
)

// feed answers a streamfeed request and then sends samples until the reader leaves or the outlet closes.
func (o *Outlet) feed(conn *net.TCPConn, req feedRequest) error {
	status, err := o.negotiate(req)
	if err != nil {
		_, _ = conn.Write([]byte(status))
		return err
	}
	capacity := o.journal.maxSlots
	if req.hasMaxBuffer {
		capacity = min(capacity, req.maxBuffer)
	}
	head := appendPatterns([]byte(status), o.info.Format, o.info.ChannelCount)
	if capacity == 0 {
		_, err := conn.Write(head)
		return err
	}
	// Subscribed before the header is sent, the reader misses nothing pushed after it has seen the header.
	sub, err := o.journal.subscribe(capacity)
	if err != nil {
		return err
	}
	defer o.journal.unsubscribe(sub)
	defer o.readers.add(sub, conn, req.hostname)()
	return o.stream(conn, sub, head)
}

// negotiate returns the response header. With an error it is what the reader is told before the connection closes,
// which may be nothing.
func (o *Outlet) negotiate(req feedRequest) (string, error) {
	switch size := o.info.Format.Size(); {
	case req.version/100 > protocolVersion/100:
		return "LSL/110 505 Version not supported\r\n\r\n", fmt.Errorf("%w: protocol %d", errUnsupported, req.version)
	case req.uid != "" && req.uid != o.id.uid:
		return "LSL/110 404 Not found\r\n\r\n", fmt.Errorf("%w: asked for stream %.40q", errRefused, req.uid)
	case req.version < protocolVersion:
		return "", fmt.Errorf("%w: protocol %d", errUnsupported, req.version)
	case req.noIEEE754 && o.info.Format.floating(), req.valueSize != 0 && size != 0 && req.valueSize != size:
		return "", fmt.Errorf("%w: the reader's values are not stored as %s", errUnsupported, o.info.Format)
	}
	return "LSL/110 200 OK\r\n" +
		"UID: " + o.id.uid + "\r\n" +
		"Byte-Order: 1234\r\n" +
		"Suppress-Subnormals: 0\r\n" +
		"Data-Protocol-Version: 110\r\n" +
		"\r\n", nil
}

// stream writes head and then batches of samples.
func (o *Outlet) stream(conn *net.TCPConn, sub *subscription, head []byte) error {
	if _, err := conn.Write(head); err != nil {
		return fmt.Errorf("lsl: send feed header: %w", err)
	}
	// From here on a slow reader costs itself samples, never its connection.
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("lsl: clear deadline: %w", err)
	}
	o.running.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // readers send nothing more: only the end matters, which Close brings as well
		sub.end()
	})
	var batch []byte
	for {
		<-sub.wake // one channel: a select of several is dear, thousands of times a second
		if sub.ended.Load() {
			return nil
		}
		for batch = o.journal.take(sub, batch[:0]); len(batch) > 0; batch = o.journal.take(sub, batch[:0]) {
			if _, err := conn.Write(batch); err != nil {
				return fmt.Errorf("lsl: send samples: %w", err)
			}
		}
	}
}
