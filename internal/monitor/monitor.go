// Package monitor listens to a rig: it keeps the ledger of all frames and, when asked to, records the tracks.
package monitor

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/ledger"
	"facetrack/internal/recorder"
	"facetrack/ipc"
)

// ErrBusGone says that the end of a run was not heard.
var ErrBusGone = errors.New("the NATS server is gone: what happened after it left was not recorded")

// patience is how long a frame may be without news before it is written off.
const patience = 3 * time.Second

// pending bounds what waits here while this process is busy: seconds of a busy rig.
const pending = 1 << 15

// kinds are what a monitor hears. It does not listen to everything: who asks capture for a ring would take it for capture.
var kinds = []ipc.Kind{ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks, ipc.KindTracks, ipc.KindDrops, ipc.KindEnd}

// Monitor is one listener. Its numbers are in Ledger.
type Monitor struct {
	Ledger *ledger.Ledger

	record *recorder.File // or nil
	log    *slog.Logger
	nc     *nats.Conn
	subs   []*nats.Subscription
	heard  chan *nats.Msg // of all kinds, in order
	stop   chan struct{}  // nothing is heard any more
	read   chan struct{}  // and all that was heard is in the books
	left   sync.Once
	failed sync.Once
}

// Start listens to a rig. record may be nil; it stays the caller's.
func Start(nc *nats.Conn, rig string, record *recorder.File, log *slog.Logger) (*Monitor, error) {
	m := &Monitor{
		Ledger: ledger.New(patience), record: record, log: log, nc: nc,
		heard: make(chan *nats.Msg, pending), stop: make(chan struct{}), read: make(chan struct{}),
	}
	go m.listen()
	for _, kind := range kinds {
		sub, err := nc.ChanSubscribe(ipc.AllCameras(rig, kind), m.heard)
		if err != nil {
			m.leave()
			return nil, fmt.Errorf("listen to rig %s: %w", rig, err)
		}
		m.subs = append(m.subs, sub)
	}
	return m, nc.Flush()
}

func (m *Monitor) listen() {
	defer close(m.read)
	for {
		select {
		case msg := <-m.heard:
			m.receive(msg)
		case <-m.stop:
			for {
				select {
				case msg := <-m.heard:
					m.receive(msg)
				default:
					return
				}
			}
		}
	}
}

func (m *Monitor) leave() {
	m.left.Do(func() {
		for _, sub := range m.subs {
			_ = sub.Unsubscribe() // fails on a connection on which nothing comes any more
		}
		close(m.stop)
	})
}

// Close stops listening, after what has arrived is in the ledger and the recording.
func (m *Monitor) Close() error {
	connected := m.nc.IsConnected()
	var err error
	if connected {
		err = m.nc.FlushTimeout(closing) // what was sent before is here
	}
	m.leave()
	select {
	case <-m.read:
	case <-time.After(closing):
		return errors.New("the last messages of the rig were not read in time")
	}
	switch {
	case !connected:
		return ErrBusGone
	case errors.Is(err, nats.ErrConnectionClosed):
		return nil
	}
	return err
}

// closing is how long the last messages may take.
const closing = 5 * time.Second

var progress = map[ipc.Kind]int{ipc.KindFrame: 1, ipc.KindDetections: 2, ipc.KindLandmarks: 3, ipc.KindTracks: ledger.Done}

func (m *Monitor) receive(msg *nats.Msg) {
	_, camera, kind, err := ipc.ParseSubject(msg.Subject)
	if err != nil || ipc.FromStream(msg) {
		return
	}
	now := time.Now()
	switch kind {
	case ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks:
		if f, err := ipc.PeekFrame(msg.Data); err == nil {
			m.Ledger.Reached(camera, f.Seq, progress[kind], now)
		}
	case ipc.KindTracks:
		m.tracks(camera, msg.Data, now)
	case ipc.KindDrops:
		if d, err := ipc.DecodeDrop(msg.Data); err == nil {
			for _, seq := range d.Seqs {
				m.Ledger.Dropped(camera, d.Stage, d.Reason, seq, now)
			}
		}
	case ipc.KindEnd:
		if e, err := ipc.DecodeEnd(msg.Data); err == nil {
			if e.Reason != ipc.EndWithoutFrames {
				m.Ledger.Captured(camera, e.LastSeq, now)
			}
			if e.Reason != ipc.EndStopped { // stopped: it may be back
				m.Ledger.Ended(camera, e.Reason)
			}
		}
	}
}

func (m *Monitor) tracks(camera string, data []byte, now time.Time) {
	f, ids, err := m.readTracks(data)
	if err != nil {
		m.log.Warn("tracks message ignored", "error", err)
		return
	}
	if !m.Ledger.Reached(camera, f.Seq, ledger.Done, now) {
		return // heard before
	}
	if m.record != nil {
		if err := m.record.Line(bytes.TrimSpace(data)); err != nil {
			m.failed.Do(func() { m.log.Error("the run goes on without recording", "error", err) })
		}
	}
	m.Ledger.Faces(camera, ids)
	m.Ledger.Latency(camera, time.Duration(f.Stamps.Tracks-f.CaptureNS), stageTimes(&f))
}

// readTracks reads of a message what the books need; one that is kept is read as a whole.
func (m *Monitor) readTracks(data []byte) (ipc.Frame, []int, error) {
	if m.record == nil {
		return ipc.PeekTracks(data)
	}
	t, err := ipc.DecodeTracks(data)
	ids := make([]int, len(t.Faces))
	for i := range t.Faces {
		ids[i] = t.Faces[i].ID
	}
	return t.Frame, ids, err
}

// stageTimes splits the way of a frame: from the message before a stage's to its own.
func stageTimes(f *ipc.Frame) map[string]time.Duration {
	s := f.Stamps
	return map[string]time.Duration{
		ledger.Stages[0]: time.Duration(s.Capture - f.CaptureNS),
		ledger.Stages[1]: time.Duration(s.Detect - s.Capture),
		ledger.Stages[2]: time.Duration(s.Landmarks - s.Detect),
		ledger.Stages[3]: time.Duration(s.Tracks - s.Landmarks),
	}
}
