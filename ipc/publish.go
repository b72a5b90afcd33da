package ipc

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
)

// Publisher sends messages through reused buffers. It may be used from several goroutines, which encode side by side.
type Publisher struct {
	nc      *nats.Conn
	buffers sync.Pool // of *[]byte
}

// NewPublisher returns a Publisher on nc.
func NewPublisher(nc *nats.Conn) *Publisher {
	return &Publisher{nc: nc, buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

// Publish encodes m and sends it. On a connection made by [Connect] it fails at once while disconnected:
// the frame is then to be counted as dropped.
func (p *Publisher) Publish(subject string, m Message) error {
	buf := p.buffers.Get().(*[]byte) //nolint:forcetypeassert // see NewPublisher
	defer p.buffers.Put(buf)
	data, err := m.AppendJSON((*buf)[:0])
	if err != nil {
		return err
	}
	*buf = data
	if err := p.nc.Publish(subject, data); err != nil {
		return fmt.Errorf("ipc: publish %s: %w", subject, err)
	}
	return nil
}
