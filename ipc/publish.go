package ipc

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
)

// Publisher sends messages through one reused buffer. It may be used from several goroutines.
type Publisher struct {
	nc  *nats.Conn
	mu  sync.Mutex
	buf []byte
}

// NewPublisher returns a Publisher on nc.
func NewPublisher(nc *nats.Conn) *Publisher { return &Publisher{nc: nc} }

// Publish encodes m and sends it. On a connection made by [Connect] it fails at once while disconnected:
// the frame is then to be counted as dropped.
func (p *Publisher) Publish(subject string, m Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	data, err := m.AppendJSON(p.buf[:0])
	if err != nil {
		return err
	}
	p.buf = data
	if err := p.nc.Publish(subject, data); err != nil {
		return fmt.Errorf("ipc: publish %s: %w", subject, err)
	}
	return nil
}
