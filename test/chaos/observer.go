package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/ipc"
)

// frame is what was heard of one frame, from any message.
type frame struct {
	captured   int64 // CLOCK_MONOTONIC ns
	media      int64
	ring       string
	stamps     ipc.Stamps
	drop       string // stage:reason
	tracked    bool
	faces      int
	id         int     // of the first face
	off        float64 // of that face from where it was drawn, px
	later      bool    // it lies where later frames have it
	twice      bool    // heard with another time of capture
	trackedTwo bool    // tracks came more than once
}

// observer listens to the rig on a connection of its own, past the proxy.
type observer struct {
	rig    string
	nc     *nats.Conn
	truths map[string]truth

	mu      sync.Mutex
	cameras map[string]map[uint64]*frame
	bad     []string // messages that cannot be read
	heard   uint64
	closed  bool // what was heard does not change any more
}

var kinds = []ipc.Kind{ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks, ipc.KindTracks, ipc.KindDrops}

func newObserver(url, rig string, truths map[string]truth) (*observer, error) {
	o := &observer{rig: rig, truths: truths, cameras: map[string]map[uint64]*frame{}}
	var err error
	o.nc, err = nats.Connect(url, nats.Name("chaos"), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ReconnectJitter(time.Millisecond, time.Millisecond), nats.PingInterval(time.Second), nats.IgnoreAuthErrorAbort())
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		sub, err := o.nc.Subscribe(ipc.AllCameras(rig, kind), o.receive)
		if err == nil {
			err = sub.SetPendingLimits(1<<20, 1<<30)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, o.nc.Flush()
}

// receive takes one message; it holds mu for all that it calls.
func (o *observer) receive(msg *nats.Msg) {
	_, camera, kind, err := ipc.ParseSubject(msg.Subject)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	switch kind {
	case ipc.KindDrops:
		err = o.drop(camera, msg.Data)
	case ipc.KindTracks:
		err = o.tracks(camera, msg.Data)
	default:
		var f ipc.Frame
		if f, err = ipc.PeekFrame(msg.Data); err == nil {
			o.of(camera, &f)
		}
	}
	o.heard++
	if err != nil {
		o.bad = append(o.bad, fmt.Sprintf("%s: %v", msg.Subject, err))
	}
}

// of is the entry of a frame, with what its message tells.
func (o *observer) of(camera string, f *ipc.Frame) *frame {
	e := o.entry(camera, f.Seq)
	if e.captured != 0 && e.captured != f.CaptureNS {
		e.twice = true
	}
	e.captured, e.media, e.ring = f.CaptureNS, f.MediaNS, f.Ring
	for _, s := range []struct {
		to *int64
		is int64
	}{
		{&e.stamps.Capture, f.Stamps.Capture}, {&e.stamps.Detect, f.Stamps.Detect},
		{&e.stamps.Landmarks, f.Stamps.Landmarks}, {&e.stamps.Tracks, f.Stamps.Tracks},
	} {
		*s.to = max(*s.to, s.is)
	}
	return e
}

func (o *observer) entry(camera string, seq uint64) *frame {
	c := o.cameras[camera]
	if c == nil {
		c = map[uint64]*frame{}
		o.cameras[camera] = c
	}
	if c[seq] == nil {
		c[seq] = &frame{}
	}
	return c[seq]
}

func (o *observer) drop(camera string, data []byte) error {
	d, err := ipc.DecodeDrop(data)
	if err != nil {
		return err
	}
	for _, seq := range d.Seqs {
		o.entry(camera, seq).drop = d.Stage + ":" + d.Reason
	}
	return nil
}

func (o *observer) tracks(camera string, data []byte) error {
	m, err := ipc.DecodeTracks(data)
	if err != nil {
		return err
	}
	e := o.of(camera, &m.Frame)
	e.trackedTwo = e.trackedTwo || e.tracked
	e.tracked, e.faces = true, len(m.Faces)
	if len(m.Faces) == 0 {
		return nil
	}
	e.id = m.Faces[0].ID
	if t := o.truths[camera]; t != nil {
		e.off, e.later = t.off(place(m.MediaNS), m.Faces[0].Points)
	}
	return nil
}

// place is which frame of its clip was captured, counted on from loop to loop.
func place(media int64) int64 { return (media*clipRate+int64(time.Second)/2)/int64(time.Second) - 1 }

// flowing tells whether every camera has a tracked frame with a face that was captured after a moment.
func (o *observer) flowing(since int64, cameras []string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range cameras {
		found := false
		for _, f := range o.cameras[c] {
			found = found || f.tracked && f.faces > 0 && f.captured > since
		}
		if !found {
			return false
		}
	}
	return true
}

// ask requests an answer as JSON.
func (o *observer) ask(subject string, wait time.Duration, into any) error {
	msg, err := o.nc.Request(subject, nil, wait)
	if err != nil {
		return err
	}
	return json.Unmarshal(msg.Data, into)
}

// close ends listening; what was heard may be read after it.
func (o *observer) close() {
	o.nc.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// seconds are for people.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// now is when this program looks on what it does.
func now() int64 { return clock.Now() }
