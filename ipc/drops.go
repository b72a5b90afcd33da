package ipc

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	dropInterval = 100 * time.Millisecond
	dropBatch    = 128     // sequence numbers in a message: it stays below 4 KiB
	dropLimit    = 1 << 18 // sequence numbers kept while disconnected
)

// Drops announces dropped frames on face.<rig>.<camera>.drops, gathered by camera and reason. Notices wait at
// most 100 ms, and while NATS is disconnected until it is back; then they may be announced twice.
type Drops struct {
	nc         *nats.Conn
	out        *Publisher
	rig, stage string
	log        *slog.Logger

	mu      sync.Mutex
	pending map[dropKey][]uint64
	count   int
	lost    uint64

	sending    sync.Mutex // one flush at a time; guards the two below
	reconnects uint64
	settled    time.Time

	full, done chan struct{}
	stopped    chan struct{}
	closeOnce  sync.Once
	closeErr   error
}

type dropKey struct{ camera, reason string }

// NewDrops returns the notifier of one stage.
func NewDrops(nc *nats.Conn, rig, stage string, logger *slog.Logger) *Drops {
	d := &Drops{
		nc: nc, out: NewPublisher(nc), rig: rig, stage: stage, log: logger.With("stage", stage),
		pending: map[dropKey][]uint64{}, reconnects: nc.Stats().Reconnects,
		full: make(chan struct{}, 1), done: make(chan struct{}), stopped: make(chan struct{}),
	}
	go d.run()
	return d
}

// Add notes that frames of a camera were dropped, for a reason of 1 to 128 bytes. It never blocks.
func (d *Drops) Add(camera, reason string, seqs ...uint64) {
	_, invalid := (&Drop{Camera: camera, Stage: d.stage, Reason: reason}).AppendJSON(nil)
	if invalid != nil {
		d.log.Error("drop notice refused", "error", invalid)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if invalid != nil || d.count+len(seqs) > dropLimit {
		d.lost += uint64(len(seqs))
		return
	}
	key := dropKey{camera, reason}
	d.pending[key] = append(d.pending[key], seqs...)
	if d.count += len(seqs); d.count >= dropBatch {
		select {
		case d.full <- struct{}{}:
		default:
		}
	}
}

// Lost counts the frames whose notice was refused, or did not fit while NATS was disconnected.
func (d *Drops) Lost() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// Pending counts the frames whose notice has not been sent yet.
func (d *Drops) Pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// Close sends what waits and stops. The error says how many notices could not be sent.
func (d *Drops) Close() error {
	d.closeOnce.Do(func() {
		close(d.done)
		<-d.stopped
		if err := d.Flush(); err != nil {
			d.closeErr = fmt.Errorf("ipc: %d drop notices were not sent: %w", d.Pending(), err)
		}
	})
	return d.closeErr
}

func (d *Drops) run() {
	defer close(d.stopped)
	tick := time.NewTicker(dropInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-d.full:
		case <-d.done:
			return
		}
		if !d.ready() {
			continue
		}
		if err := d.Flush(); err != nil {
			d.log.Debug("drop notices wait", "error", err)
		}
	}
}

// ready says whether listeners are there to hear: after a reconnection they need a moment to be back, too.
func (d *Drops) ready() bool {
	d.sending.Lock()
	defer d.sending.Unlock()
	if !d.nc.IsConnected() {
		return false
	}
	if n := d.nc.Stats().Reconnects; n != d.reconnects {
		d.reconnects, d.settled = n, time.Now().Add(settleTime)
	}
	return !time.Now().Before(d.settled)
}
