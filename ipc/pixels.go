package ipc

import (
	"fmt"
	"hash/crc32"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

func (s *Server) onPixels(m *nats.Msg) {
	err := s.sendPixels(m)
	if err == nil {
		return
	}
	s.refused(err)
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(headerError, codeOf(err))
	answer.Data = []byte(err.Error())
	if err := s.nc.PublishMsg(answer); err != nil {
		s.log.Warn("pixel request not answered", "error", err)
	}
}

func (s *Server) sendPixels(m *nats.Msg) error {
	r, err := DecodePixelRequest(m.Data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	consumer, err := s.known(r.Session)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.stage(consumer.reader, r.Ticket); err != nil {
		return err
	}
	return s.sendStaged(m.Reply, r.Ticket)
}

// stage copies the frame out of its slot. The slot is held for the copy only, not for the sending, so that a
// slow network takes no slot away from the camera; a copy whose lease did not last is not sent.
func (s *Server) stage(reader gpuring.Reader, t gpuring.Ticket) error {
	lease, err := reader.Lease(t)
	if err != nil {
		return err
	}
	s.staged = append(s.staged[:0], lease.View().Host...)
	return lease.Release()
}

func (s *Server) sendStaged(reply string, t gpuring.Ticket) error {
	t.Seq = 0
	size := chunkSize(s.nc.MaxPayload())
	c := chunk{
		ticket: t, length: len(s.staged), total: (len(s.staged) + size - 1) / size,
		crc: crc32.Checksum(s.staged, castagnoli),
	}
	for rest := s.staged; len(rest) > 0; c.index++ {
		n := min(len(rest), size)
		if err := s.nc.PublishMsg(&nats.Msg{Subject: reply, Header: c.header(), Data: rest[:n]}); err != nil {
			return fmt.Errorf("send chunk %d of %d: %w", c.index, c.total, err)
		}
		rest = rest[n:]
	}
	s.mu.Lock()
	s.stats.Frames++
	s.stats.Bytes += uint64(len(s.staged))
	s.mu.Unlock()
	return nil
}
