package ipc

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// session is one consumer that fetches copies: the server holds a reader in its place.
type session struct {
	reader   gpuring.Reader
	identity string
	seen     time.Time
}

// serve does what an attach request asks for, besides the description of the ring that answers it.
func (s *Server) serve(r *AttachRequest) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Op == opPing { // it counts between two rings, too
		if _, err := s.known(r.Session); err != nil {
			return nil, err
		}
	}
	if s.closed || s.ring == nil {
		return nil, gpuring.ErrClosed
	}
	switch r.Op {
	case opAttach:
		s.stats.Attaches++
		return s.ring, nil
	case opProve, opPing:
		return s.ring, nil
	case opCopy:
		return s.ring, s.admit(r)
	}
	return nil, fmt.Errorf("op: %w: %.32q, attach, prove, copy or ping expected", ErrInvalid, r.Op)
}

// admit makes the reader of a new session. The caller holds mu.
func (s *Server) admit(r *AttachRequest) error {
	if old := s.sessions[r.Session]; old != nil {
		old.seen = time.Now()
		return nil
	}
	identity := r.Identity + "@" + r.Host
	reader, err := s.ring.writer.AttachLocal(identity)
	if err != nil {
		return err
	}
	s.sessions[r.Session] = &session{reader: reader, identity: identity, seen: time.Now()}
	s.log.Info("consumer copies frames over NATS", "consumer", identity)
	return nil
}

// known finds a session and notes that it lives. The caller holds mu.
func (s *Server) known(id string) (*session, error) {
	found := s.sessions[id]
	if found == nil {
		return nil, errUnknownSession
	}
	found.seen = time.Now()
	return found, nil
}

func (s *Server) onRelease(m *nats.Msg) {
	r, err := DecodeAttachRequest(m.Data)
	if err != nil {
		s.refused(err)
		return
	}
	s.mu.Lock()
	leaving := s.sessions[r.Session]
	s.mu.Unlock()
	if err := s.dropSessions(func(c *session) bool { return c == leaving }); err != nil {
		s.log.Warn("reader of a consumer not closed", "error", err)
	}
}

// forget drops sessions that were silent for too long.
func (s *Server) forget(silence time.Duration) {
	defer close(s.stopped)
	tick := time.NewTicker(max(silence/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.done:
			return
		}
		oldest := time.Now().Add(-silence)
		err := s.dropSessions(func(c *session) bool {
			silent := c.seen.Before(oldest)
			if silent {
				s.log.Warn("consumer is silent: its reader is closed", "consumer", c.identity)
			}
			return silent
		})
		if err != nil {
			s.log.Warn("reader of a silent consumer not closed", "error", err)
		}
	}
}

func (s *Server) dropSessions(which func(*session) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for id, c := range s.sessions {
		if which(c) {
			delete(s.sessions, id)
			errs = append(errs, c.reader.Close())
		}
	}
	return errors.Join(errs...)
}
