package ipc

import (
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ackMemory is how many frames of a camera are acknowledged again after a reconnection: no ring has more slots.
const ackMemory = 256

// Acker acknowledges frames whose producer waits for it, and repeats the latest acknowledgements after a
// reconnection, because a lost one would stop the camera.
type Acker struct {
	nc     *nats.Conn
	out    *Publisher
	rig    string
	log    *slog.Logger
	status chan nats.Status

	mu     sync.Mutex
	recent map[string][]uint64 // by camera

	done, stopped chan struct{}
	closeOnce     sync.Once
}

// NewAcker returns the acknowledger of a rig.
func NewAcker(nc *nats.Conn, rig string, logger *slog.Logger) *Acker {
	a := &Acker{
		nc: nc, out: NewPublisher(nc), rig: rig, log: logger, status: nc.StatusChanged(nats.CONNECTED),
		recent: map[string][]uint64{}, done: make(chan struct{}), stopped: make(chan struct{}),
	}
	go a.run()
	return a
}

// Done acknowledges f if its producer asked for it. It never blocks on a lost connection.
func (a *Acker) Done(f *Frame) {
	if !f.Ack {
		return
	}
	a.mu.Lock()
	seqs := append(a.recent[f.Camera], f.Seq)
	if len(seqs) >= 2*ackMemory {
		seqs = append(seqs[:0], seqs[len(seqs)-ackMemory:]...)
	}
	a.recent[f.Camera] = seqs
	a.mu.Unlock()
	a.send(f.Camera, f.Seq)
}

// Close stops repeating. It is idempotent.
func (a *Acker) Close() error {
	a.closeOnce.Do(func() {
		close(a.done)
		<-a.stopped
		a.nc.RemoveStatusListener(a.status)
	})
	return nil
}

func (a *Acker) send(camera string, seq uint64) {
	if err := a.out.Publish(Subject(a.rig, camera, KindAck), &Ack{Camera: camera, Seq: seq}); err != nil {
		a.log.Debug("acknowledgement waits", "camera", camera, "seq", seq, "error", err)
	}
}

// run repeats the acknowledgements at once after a reconnection and again when the others are back, too.
func (a *Acker) run() {
	defer close(a.stopped)
	var settled <-chan time.Time
	for {
		select {
		case <-a.status:
			settled = time.After(settleTime)
		case <-settled:
			settled = nil
		case <-a.done:
			return
		}
		a.repeat()
	}
}

func (a *Acker) repeat() {
	a.mu.Lock()
	copies := make(map[string][]uint64, len(a.recent))
	for camera, seqs := range a.recent {
		copies[camera] = append([]uint64(nil), seqs[max(0, len(seqs)-ackMemory):]...)
	}
	a.mu.Unlock()
	for camera, seqs := range copies {
		for _, seq := range seqs {
			a.send(camera, seq)
		}
	}
}
