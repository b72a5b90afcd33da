package stagetest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

// Bus is an embedded NATS server and the test's own connection to it.
type Bus struct {
	T   testing.TB
	URL string
	NC  *ipc.Conn
}

// NewBus starts a server on a free port of this host; change may set more of its options.
func NewBus(t testing.TB, change ...func(*server.Options)) *Bus {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
	for _, c := range change {
		c(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(Deadline) {
		t.Fatal("the NATS server does not start")
	}
	return On(t, s.ClientURL())
}

// On is a Bus on a server that runs already.
func On(t testing.TB, url string) *Bus {
	t.Helper()
	b := &Bus{T: t, URL: url}
	b.NC = b.Connect()
	return b
}

// JetStream makes a server that keeps state in dir.
func JetStream(dir string) func(*server.Options) {
	return func(o *server.Options) { o.JetStream, o.StoreDir = true, dir }
}

// Connect makes another connection.
func (b *Bus) Connect() *ipc.Conn {
	b.T.Helper()
	nc, err := b.dial(b.T.Name())
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = nc.Close() })
	return nc
}

func (b *Bus) dial(name string) (*ipc.Conn, error) {
	return ipc.Connect(b.URL, name, Quiet, nats.Timeout(Deadline))
}

// Publish sends a message on the test's own connection.
func (b *Bus) Publish(camera string, kind ipc.Kind, m ipc.Message) {
	b.T.Helper()
	if err := ipc.NewPublisher(b.NC.Conn).Publish(ipc.Subject(Rig, camera, kind), m); err != nil {
		b.T.Fatal(err)
	}
}

// Hear returns a channel with the messages of a kind from all cameras; one that cannot be read fails the test.
func Hear[M any](b *Bus, kind ipc.Kind, decode func([]byte) (M, error)) <-chan M {
	b.T.Helper()
	heard := make(chan M, 4096)
	_, err := b.NC.Subscribe(ipc.AllCameras(Rig, kind), func(m *nats.Msg) {
		v, err := decode(m.Data)
		if err != nil {
			b.T.Errorf("%s: %v", m.Subject, err)
			return
		}
		heard <- v
	})
	if err != nil {
		b.T.Fatal(err)
	}
	if err := b.NC.Flush(); err != nil {
		b.T.Fatal(err)
	}
	return heard
}

// Next waits for a channel's next value.
func Next[M any](t testing.TB, from <-chan M) M {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(Deadline):
		var m M
		t.Fatalf("no %T came", m)
		return m
	}
}
