package ipc

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// ErrTransfer says that the chunks of a frame do not make up the frame that was asked for.
var ErrTransfer = errors.New("pixels arrived damaged")

// transfer collects the chunks of one frame into buf. It ends once: complete, refused, damaged or abandoned.
type transfer struct {
	ticket gpuring.Ticket
	done   chan error // the outcome, buffered

	mu     sync.Mutex
	ended  bool
	buf    []byte // nil once ended
	filled int
	chunks int
}

func newTransfer(t gpuring.Ticket, buf []byte) *transfer {
	return &transfer{ticket: t, done: make(chan error, 1), buf: buf}
}

// abandon makes sure that buf is not written any more.
func (t *transfer) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.buf = true, nil
}

// receive takes one message; it reports true when the transfer has ended.
func (t *transfer) receive(m *nats.Msg) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return true
	}
	complete, err := t.add(m)
	if err == nil && !complete {
		return false
	}
	t.ended, t.buf = true, nil
	t.done <- err
	return true
}

func (t *transfer) add(m *nats.Msg) (complete bool, err error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return false, ErrNoCapture
	}
	if code := m.Header.Get(headerError); code != "" {
		return false, refusal(code, string(m.Data))
	}
	c, err := parseChunk(m.Header)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	if err := t.fits(&c, len(m.Data)); err != nil {
		return false, err
	}
	t.filled += copy(t.buf[t.filled:], m.Data)
	t.chunks++
	if t.chunks < c.total {
		return false, nil
	}
	if t.filled != len(t.buf) || crc32.Checksum(t.buf, castagnoli) != c.crc {
		return false, fmt.Errorf("%w: %d of %d bytes, or their checksum is wrong", ErrTransfer, t.filled, len(t.buf))
	}
	return true, nil
}

// fits checks that a chunk is the next one of this frame. One sender's messages keep their order.
func (t *transfer) fits(c *chunk, size int) error {
	want := t.ticket
	want.Seq = 0
	switch {
	case c.ticket != want:
		return fmt.Errorf("%w: a chunk of %+v came for %+v", ErrTransfer, c.ticket, want)
	case c.index != t.chunks:
		return fmt.Errorf("%w: chunk %d came instead of chunk %d of %d", ErrTransfer, c.index, t.chunks, c.total)
	case c.length != len(t.buf) || size > len(t.buf)-t.filled:
		return fmt.Errorf("%w: a frame of %d bytes came, %d expected", ErrTransfer, c.length, len(t.buf))
	}
	return nil
}
