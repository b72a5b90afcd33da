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

// pending bounds what waits here while this process is busy: a minute of a busy rig.
const (
	pendingMessages = 1 << 16
	pendingBytes    = 1 << 30
)

// Monitor is one listener. Its numbers are in Ledger.
type Monitor struct {
	Ledger *ledger.Ledger

	record *recorder.File // or nil
	log    *slog.Logger
	nc     *nats.Conn
	sub    *nats.Subscription
	failed sync.Once
}

// Start listens to everything of a rig. record may be nil; it stays the caller's.
func Start(nc *nats.Conn, rig string, record *recorder.File, log *slog.Logger) (*Monitor, error) {
	m := &Monitor{Ledger: ledger.New(patience), record: record, log: log, nc: nc}
	sub, err := nc.Subscribe(ipc.Everything(rig), m.receive)
	if err != nil {
		return nil, fmt.Errorf("listen to rig %s: %w", rig, err)
	}
	m.sub = sub
	if err := sub.SetPendingLimits(pendingMessages, pendingBytes); err != nil {
		return nil, fmt.Errorf("listen to rig %s: %w", rig, err)
	}
	return m, nc.Flush()
}

// Close stops listening, after what has arrived is in the ledger and the recording.
func (m *Monitor) Close() error {
	if !m.nc.IsConnected() {
		_ = m.sub.Unsubscribe() // nothing comes any more
		return ErrBusGone
	}
	closed := make(chan struct{})
	m.sub.SetClosedHandler(func(string) { close(closed) })
	if err := m.sub.Drain(); err != nil {
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrBadSubscription) {
			return nil
		}
		return err
	}
	select {
	case <-closed:
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("the last messages of the rig were not read in time")
	}
}

var progress = map[ipc.Kind]int{ipc.KindFrame: 1, ipc.KindDetections: 2, ipc.KindLandmarks: 3, ipc.KindTracks: ledger.Done}

func (m *Monitor) receive(msg *nats.Msg) {
	_, camera, kind, err := ipc.ParseSubject(msg.Subject)
	if err != nil {
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
	f, ids, err := ipc.PeekTracks(data)
	if err == nil && m.record != nil { // what is kept is whole
		_, err = ipc.DecodeTracks(data)
	}
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
