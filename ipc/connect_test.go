package ipc_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/gpuring"
	"facetrack/ipc"
)

func TestConnectWithoutServer(t *testing.T) {
	s := startNATS(t, server.Options{})
	url := strings.Replace(s.ClientURL(), "nats://", "nats://me:secret@", 1)
	s.Shutdown()
	_, err := ipc.Connect(url, "test", quiet)
	if !errors.Is(err, ipc.ErrNoServer) || !strings.Contains(err.Error(), "start one or use facetrack up") {
		t.Error(err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is shown: %v", err)
	}
}

func TestPublishFailsWhileDisconnected(t *testing.T) {
	s := startNATS(t, server.Options{})
	nc := connect(t, s.ClientURL())
	out := ipc.NewPublisher(nc.Conn)
	f := testFrame()
	restartNATS(t, s, server.Options{}, func() {
		eventually(t, "disconnected", func() bool { return !nc.IsConnected() })
		if out.Publish("face.lab.cam.frame", &f) == nil {
			t.Error("a frame was kept for later")
		}
	})
	other := connect(t, s.ClientURL())
	eventually(t, "reconnected", func() bool { return nc.IsConnected() })
	sub, err := other.SubscribeSync("face.lab.*.frame")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Flush(), out.Publish("face.lab.cam.frame", &f)); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ipc.DecodeFrame(m.Data); err != nil || got != f {
		t.Errorf("%v: %+v", err, got)
	}
	f.Width = 0
	if err := out.Publish("face.lab.cam.frame", &f); !errors.Is(err, ipc.ErrInvalid) {
		t.Errorf("an impossible frame: %v", err)
	}
}

func TestSlowConsumersAreCounted(t *testing.T) {
	s := startNATS(t, server.Options{})
	nc := connect(t, s.ClientURL())
	hold := make(chan struct{})
	defer close(hold)
	var got atomic.Int32
	sub, err := nc.Subscribe("x", func(*nats.Msg) { got.Add(1); <-hold })
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.SetPendingLimits(1, -1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a slow consumer is counted", func() bool {
		if err := nc.Publish("x", nil); err != nil {
			t.Fatal(err)
		}
		return nc.SlowConsumers() > 0
	})
}

func openJetStream(t *testing.T, nc *ipc.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestBucket(t *testing.T) {
	s := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	js := openJetStream(t, connect(t, s.ClientURL()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var b *ipc.Bucket
	for range 2 { // made, then found
		var err error
		if b, err = ipc.OpenBucket(ctx, js, "lab"); err != nil {
			t.Fatal(err)
		}
	}
	type config struct {
		Detector string `json:"detector"`
	}
	var c config
	if _, err := b.Get(ctx, "config", &c); !errors.Is(err, ipc.ErrNoKey) {
		t.Errorf("no configuration yet: %v", err)
	}
	first, err := b.Update(ctx, "config", config{"yunet"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Update(ctx, "config", config{"other"}, 0); !errors.Is(err, ipc.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := b.Put(ctx, "config", config{"blazeface"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Update(ctx, "config", config{"other"}, first); !errors.Is(err, ipc.ErrConflict) {
		t.Errorf("changed meanwhile: %v", err)
	}
	if _, err := b.Get(ctx, "config", &c); err != nil || c.Detector != "blazeface" {
		t.Errorf("%v: %+v", err, c)
	}
	want := ipc.RingState{Camera: "cam", Ring: "lab/cam/4", Generation: 4, Host: "h", PID: 7, Open: true, WallNS: 9,
		Geometry: gpuring.Geometry{Width: 4, Height: 2, Format: gpuring.NV12, Slots: 3}}
	if err := b.PutRing(ctx, want); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Ring(ctx, "cam"); err != nil || got != want {
		t.Errorf("%v: %+v", err, got)
	}
	if _, err := b.Ring(ctx, "a.b"); !errors.Is(err, ipc.ErrToken) {
		t.Error(err)
	}
}

func TestBucketWithoutJetStream(t *testing.T) {
	s := startNATS(t, server.Options{})
	js := openJetStream(t, connect(t, s.ClientURL()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := ipc.OpenBucket(ctx, js, "lab")
	if !errors.Is(err, ipc.ErrNoJetStream) || !strings.Contains(err.Error(), "start it with -js") {
		t.Error(err)
	}
}
