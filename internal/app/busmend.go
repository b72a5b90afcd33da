package app

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// mender has the embedded server's JetStream begin anew after its disk was full: a stream that once could not be written takes nothing any
// more, whatever room there is later, and people's numbers and changes of the configuration would be lost until somebody starts the rig again.
type mender struct {
	with *server.Options // the server's
	log  *slog.Logger
	sick chan struct{} // a stream could not be written
	quit chan struct{}
	once sync.Once
	done sync.WaitGroup
}

const (
	mendEvery  = time.Second
	roomWanted = 1 << 20 // bytes that can be written again
)

func newMender(with *server.Options, log *slog.Logger) *mender {
	return &mender{with: with, log: log, sick: make(chan struct{}, 1), quit: make(chan struct{})}
}

// watch looks after a server until stop.
func (m *mender) watch(s *server.Server) {
	m.done.Go(func() {
		for {
			select {
			case <-m.quit:
				return
			case <-m.sick:
			}
			m.log.Error("the NATS server cannot store the rig's state; it goes on without, and stores it again once there is room", "dir", m.with.StoreDir)
			for m.heal(s) != nil {
				select {
				case <-m.quit:
					return
				case <-time.After(mendEvery):
				}
			}
		}
	})
}

// heal has JetStream read its files again, if there is room.
func (m *mender) heal(s *server.Server) error {
	if err := m.room(); err != nil {
		return err
	}
	if err := s.DisableJetStream(); err != nil {
		return err
	}
	select { // what was said until now is over
	case <-m.sick:
	default:
	}
	o := m.with
	err := s.EnableJetStream(&server.JetStreamConfig{ // as the server itself does at its start
		StoreDir: o.StoreDir, SyncInterval: o.SyncInterval, SyncAlways: o.SyncAlways, Strict: !o.NoJetStreamStrict, MaxMemory: o.JetStreamMaxMemory,
		MaxStore: o.JetStreamMaxStore, Domain: o.JetStreamDomain, CompressOK: true, UniqueTag: o.JetStreamUniqueTag,
	})
	if err != nil {
		m.log.Error("the NATS server's state cannot be read again", "error", err)
		return err
	}
	m.log.Warn("the NATS server stores the rig's state again")
	return nil
}

// room tells why nothing can be written where the server's data are.
func (m *mender) room() error {
	f, err := os.CreateTemp(m.with.StoreDir, "room-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(make([]byte, roomWanted))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// stop ends it, once; a server that is not looked after has none.
func (m *mender) stop() {
	if m == nil {
		return
	}
	m.once.Do(func() { close(m.quit) })
	m.done.Wait()
}

// listen hears what the server says, for the mender, and passes it on to what may say it, if there is one.
func (m *mender) listen(also server.Logger) server.Logger { return &mendLog{also, m.sick} }

type mendLog struct {
	server.Logger // or nil
	sick          chan struct{}
}

// hear notes what the server says of a stream that cannot be written.
func (l *mendLog) hear(line string) {
	for _, sick := range []string{"failed to store a msg", "out of resources", "out of space"} {
		if strings.Contains(line, sick) {
			select {
			case l.sick <- struct{}{}:
			default:
			}
		}
	}
}

// Errorf implements the server's logger.
func (l *mendLog) Errorf(format string, v ...any) {
	l.hear(fmt.Sprintf(format, v...))
	l.pass(server.Logger.Errorf, format, v)
}

// Warnf implements the server's logger.
func (l *mendLog) Warnf(format string, v ...any) { l.pass(server.Logger.Warnf, format, v) }

// Fatalf implements the server's logger.
func (l *mendLog) Fatalf(format string, v ...any) { l.pass(server.Logger.Fatalf, format, v) }

// Noticef implements the server's logger.
func (l *mendLog) Noticef(format string, v ...any) { l.pass(server.Logger.Noticef, format, v) }

// Debugf implements the server's logger.
func (l *mendLog) Debugf(format string, v ...any) { l.pass(server.Logger.Debugf, format, v) }

// Tracef implements the server's logger.
func (l *mendLog) Tracef(format string, v ...any) { l.pass(server.Logger.Tracef, format, v) }

func (l *mendLog) pass(say func(l server.Logger, format string, v ...any), format string, v []any) {
	if l.Logger != nil {
		say(l.Logger, format, v...)
	}
}
