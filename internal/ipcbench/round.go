package ipcbench

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/ipc"
)

// headerFrame carries the frame's JSON where the payload is the pixels.
const headerFrame = "Frame"

// round is one round on the consumer's side.
type round struct {
	consumer *consumer
	from     *opened
	how      roundOrder
	frames   chan *nats.Msg
	sub      *nats.Subscription
	work     sync.WaitGroup

	mu    sync.Mutex
	total tally
}

// read works through frames on one lane.
func (r *round) read(l *lane) {
	l.up, l.down = 0, 0
	for m := range r.frames {
		r.one(l, m)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Up += l.up
	r.total.Down += l.down
}

func (r *round) one(l *lane, m *nats.Msg) {
	arrived := clock.Now()
	f, err := decode(m)
	t1 := int64(0)
	wrong := false
	if err == nil {
		t1, wrong, err = r.look(l, m, &f)
	}
	r.note(&f, arrived, t1, wrong, err)
	// A frame that could not be read is done as well, and counted; the producer notices an acknowledgement that is lost.
	_ = r.consumer.acks.Publish(ackSubject(r.from.Camera), &ipc.Ack{Camera: r.from.Camera, Seq: f.Seq})
}

func decode(m *nats.Msg) (ipc.Frame, error) {
	if text := m.Header.Get(headerFrame); text != "" {
		return ipc.DecodeFrame([]byte(text))
	}
	return ipc.DecodeFrame(m.Data)
}

// look gets the frame, runs the kernel that is timed, and checks every byte. t1 is when the kernel had ended.
func (r *round) look(l *lane, m *nats.Msg, f *ipc.Frame) (t1 int64, wrong bool, err error) {
	px, err := r.from.fetch(l, m, f)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, px.release()) }()
	rowBytes, rows := plane(r.from.Shape)
	stamp, passes := uint64(f.MediaNS), max(r.how.Passes, 1)
	switch {
	case r.how.Timed && minimal(f):
		if t1, err = l.start(px, stamp); err == nil {
			err = l.queueWhole(px, rowBytes, rows, stamp, passes)
		}
	case r.how.Timed:
		t1, err = l.whole(px, rowBytes, rows, stamp, passes)
	default:
		err = l.queueWhole(px, rowBytes, rows, stamp, passes)
	}
	if err == nil {
		wrong, err = l.wrong()
	}
	if err != nil && l.stream != nil {
		err = errors.Join(err, l.stream.Synchronize())
	}
	return t1, wrong, err
}

// minimal tells which kernel is timed on a frame: they take turns.
func minimal(f *ipc.Frame) bool { return f.Seq%2 == 0 }

func (r *round) note(f *ipc.Frame, arrived, t1 int64, wrong bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.total
	t.Frames++
	switch {
	case err != nil:
		t.Failed++
		if t.Failure == "" {
			t.Failure = fmt.Sprintf("frame %d: %v", f.Seq, err)
		}
	case wrong:
		t.Mismatches++
	case r.how.Timed && t.Frames > r.how.WarmUp:
		t.Arrived = append(t.Arrived, arrived-f.CaptureNS)
		if minimal(f) {
			t.Minimal = append(t.Minimal, t1-f.CaptureNS)
		} else {
			t.Whole = append(t.Whole, t1-f.CaptureNS)
		}
	}
}

// finish ends the subscription and waits for the lanes. Every frame was acknowledged before.
func (r *round) finish() (tally, error) {
	err := r.sub.Unsubscribe() // from here on nothing is put into frames
	close(r.frames)
	r.work.Wait()
	return r.total, err
}
