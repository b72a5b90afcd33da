package ipc_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

// ledger collects what is announced on a rig.
type ledger struct {
	mu    sync.Mutex
	drops map[string]map[uint64]int // by camera/stage/reason: how often each number came
	acks  map[uint64]int
}

func listen(t *testing.T, nc *ipc.Conn) *ledger {
	t.Helper()
	l := &ledger{drops: map[string]map[uint64]int{}, acks: map[uint64]int{}}
	for subject, handle := range map[string]nats.MsgHandler{
		ipc.AllCameras("lab", ipc.KindDrops): func(m *nats.Msg) { l.onDrop(t, m) },
		ipc.AllCameras("lab", ipc.KindAck):   func(m *nats.Msg) { l.onAck(t, m) },
	} {
		if _, err := nc.Subscribe(subject, handle); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *ledger) onDrop(t *testing.T, m *nats.Msg) {
	d, err := ipc.DecodeDrop(m.Data)
	if err != nil || m.Subject != "face.lab."+d.Camera+".drops" || len(m.Data) > 4096 {
		t.Errorf("%s: %v", m.Subject, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := d.Camera + "/" + d.Stage + "/" + d.Reason
	if l.drops[key] == nil {
		l.drops[key] = map[uint64]int{}
	}
	for _, seq := range d.Seqs {
		l.drops[key][seq]++
	}
}

func (l *ledger) onAck(t *testing.T, m *nats.Msg) {
	a, err := ipc.DecodeAck(m.Data)
	if err != nil || m.Subject != "face.lab.cam.ack" {
		t.Errorf("%s: %v", m.Subject, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks[a.Seq]++
}

func (l *ledger) dropped(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.drops[key])
}

func (l *ledger) acked() (seqs []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq := range l.acks {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return seqs
}

func TestDropsAreAnnounced(t *testing.T) {
	s := startNATS(t, small)
	l := listen(t, connect(t, s.ClientURL()))
	d := ipc.NewDrops(connect(t, s.ClientURL()).Conn, "lab", "detect", quiet)
	for seq := range uint64(1000) {
		d.Add("a", "stale", seq)
	}
	d.Add("b", "no face \"detector\"", 5, 6)
	d.Add("a", "other", 7)
	eventually(t, "all notices arrive", func() bool {
		return l.dropped("a/detect/stale") == 1000 && l.dropped(`b/detect/no face "detector"`) == 2 && l.dropped("a/detect/other") == 1
	})
	d.Add("not a camera", "r", 1)
	d.Add("a", "", 1, 2)
	if d.Lost() != 3 {
		t.Errorf("%d refused, want 3", d.Lost())
	}
	d.Add("a", "last", 8)
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	eventually(t, "close sends what waits", func() bool { return l.dropped("a/detect/last") == 1 && d.Pending() == 0 })
	if n := l.dropped("a/detect/stale"); n != 1000 {
		t.Errorf("%d frames were announced, want 1000", n)
	}
}

func TestNoticesOutliveNATS(t *testing.T) {
	s := startNATS(t, server.Options{})
	listener, nc := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, listener)
	d := ipc.NewDrops(nc.Conn, "lab", "detect", quiet)
	acker := ipc.NewAcker(nc.Conn, "lab", quiet)
	defer func() {
		if err := errors.Join(acker.Close(), acker.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}()
	done := func(seq uint64, wanted bool) {
		f := testFrame()
		f.Camera, f.Seq, f.Ack = "cam", seq, wanted
		acker.Done(&f)
	}
	done(1, true)
	done(2, false)
	eventually(t, "the acknowledgement arrives", func() bool { return slices.Equal(l.acked(), []uint64{1}) })
	restartNATS(t, s, server.Options{}, func() {
		eventually(t, "disconnected", func() bool { return !nc.IsConnected() && !listener.IsConnected() })
		for seq := range uint64(300) {
			d.Add("cam", "disconnected", seq)
		}
		if err := d.Flush(); err == nil || d.Pending() != 300 {
			t.Errorf("flush without a server: %v, %d wait", err, d.Pending())
		}
		done(3, true)
	})
	eventually(t, "the notices arrive", func() bool { return l.dropped("cam/detect/disconnected") == 300 })
	eventually(t, "the acknowledgement arrives", func() bool { return slices.Equal(l.acked(), []uint64{1, 3}) })
}

func TestDropsAreBounded(t *testing.T) {
	s := startNATS(t, server.Options{})
	nc := connect(t, s.ClientURL())
	d := ipc.NewDrops(nc.Conn, "lab", "detect", quiet)
	s.Shutdown()
	eventually(t, "disconnected", func() bool { return !nc.IsConnected() })
	const more = 1 << 20
	for range more / 1024 {
		d.Add("cam", "disconnected", make([]uint64, 1024)...)
	}
	if d.Pending() >= more || d.Lost() == 0 || d.Lost()+uint64(d.Pending()) != more {
		t.Errorf("%d wait, %d lost", d.Pending(), d.Lost())
	}
	if err := d.Close(); err == nil {
		t.Error("unsent notices were not reported")
	}
}
