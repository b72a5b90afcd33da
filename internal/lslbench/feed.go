package lslbench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
)

// stream is where a reader finds a stream.
type stream struct {
	uid            string
	port, channels int
}

const (
	deduced  = 1 // the tag of a sample without a stamp
	stamped  = 2
	patterns = 2 // samples before the stream's own
)

// feed is one reader of one stream.
type feed struct {
	conn     net.Conn
	r        *bufio.Reader
	channels int
}

// subscribe returns when the outlet has sent its header.
func subscribe(s stream) (*feed, error) {
	conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return nil, err
	}
	f := &feed{conn: conn, r: bufio.NewReader(conn), channels: s.channels}
	if err := f.handshake(s.uid); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("lslbench: stream %s: %w", s.uid, err)
	}
	return f, nil
}

func (f *feed) handshake(uid string) error {
	_, err := fmt.Fprintf(f.conn, "LSL:streamfeed/110 %s\r\nNative-Byte-Order: 1234\r\nEndian-Performance: 0\r\nHas-IEEE754-Floats: 1\r\n"+
		"Supports-Subnormals: 1\r\nValue-Size: 4\r\nData-Protocol-Version: 110\r\nMax-Buffer-Length: 21600\r\nMax-Chunk-Length: 0\r\n"+
		"Hostname: localhost\r\n\r\n", uid)
	if err != nil {
		return err
	}
	status, err := f.r.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		return fmt.Errorf("answer %.60q: %w", status, err)
	}
	for line := ""; line != "\r\n"; {
		if line, err = f.r.ReadString('\n'); err != nil {
			return err
		}
		if v, ok := strings.CutPrefix(line, "Byte-Order: "); ok && strings.TrimSpace(v) != "1234" {
			return fmt.Errorf("%.40q: this reader wants little endian", line)
		}
	}
	for range patterns {
		if _, err := f.next(); err != nil {
			return err
		}
	}
	return nil
}

// next returns the stamp of the next sample.
func (f *feed) next() (float64, error) {
	tag, err := f.r.ReadByte()
	if err != nil {
		return 0, err
	}
	stamp := 0.0
	switch tag {
	case deduced:
	case stamped:
		b, err := f.r.Peek(8)
		if err != nil {
			return 0, err
		}
		stamp = math.Float64frombits(binary.LittleEndian.Uint64(b))
		_, _ = f.r.Discard(8) // peeked
	default:
		return 0, fmt.Errorf("tag %d: %w", tag, io.ErrUnexpectedEOF)
	}
	_, err = f.r.Discard(4 * f.channels)
	return stamp, err
}
