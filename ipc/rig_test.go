package ipc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/ipc"
)

var quiet = slog.New(slog.DiscardHandler)

const patience = 30 * time.Second

func startNATS(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = -1
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// restartNATS stops s, runs meanwhile, and starts a server on the same port.
func restartNATS(t testing.TB, s *server.Server, o server.Options, meanwhile func()) {
	t.Helper()
	address, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("the NATS server has no address")
	}
	s.Shutdown()
	s.WaitForShutdown()
	meanwhile()
	eventually(t, "nobody else has the port", func() bool {
		l, err := net.ListenTCP("tcp", address)
		return err == nil && l.Close() == nil
	})
	o.Port = address.Port
	startNATS(t, o)
}

func connect(t testing.TB, url string, opts ...nats.Option) *ipc.Conn {
	t.Helper()
	nc, err := ipc.Connect(url, t.Name(), quiet, append(opts, nats.Timeout(patience))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// capture is the writer and the server of one camera.
type capture struct {
	t      testing.TB
	writer gpuring.Writer
	server *ipc.Server
}

var geometry = gpuring.Geometry{Width: 96, Height: 64, Format: gpuring.BGR, Slots: 3}

func startCapture(t testing.TB, nc *ipc.Conn, dir string, o ipc.ServerOptions) *capture {
	t.Helper()
	if o.MaxSilence == 0 {
		o.MaxSilence = patience // a busy machine makes nobody silent
	}
	w, err := gpuring.Create(gpuring.Options{Dir: dir, Rig: "lab", Camera: "cam", Geometry: geometry, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ipc.NewServer(nc.Conn, "lab", "cam", w, quiet, o)
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{t: t, writer: w, server: s}
	t.Cleanup(c.stop)
	return c
}

func (c *capture) stop() {
	if err := errors.Join(c.server.Close(), c.writer.Close()); err != nil {
		c.t.Error(err)
	}
}

// pixels are the bytes of frame seq: no two neighbours, rows or frames are alike.
func pixels(seq uint64) []byte {
	p := make([]byte, geometry.FrameBytes())
	x := uint32(seq)*2654435761 + 1
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// publish writes one frame into the ring and returns its message.
func (c *capture) publish() ipc.Frame {
	c.t.Helper()
	claim, err := c.writer.Begin()
	if err != nil {
		c.t.Fatal(err)
	}
	seq := c.writer.NextSeq()
	copy(claim.View().Host, pixels(seq))
	t, err := claim.Publish(seq)
	if err != nil {
		c.t.Fatal(err)
	}
	g := c.writer.Geometry()
	return ipc.Frame{
		Camera: "cam", Seq: seq, CaptureNS: clock.Now(), WallNS: clock.Wall(), Ring: t.RingID, Slot: t.Slot,
		Generation: t.Generation, Width: g.Width, Height: g.Height, Format: string(g.Format),
	}
}

func newLink(t testing.TB, nc *ipc.Conn, o ipc.LinkOptions) *ipc.Link {
	t.Helper()
	o.Timeout = patience
	l, err := ipc.NewLink(nc.Conn, "lab", "cam", "test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// lease leases f and checks its pixels.
func lease(t testing.TB, l *ipc.Link, f ipc.Frame) gpuring.Lease {
	t.Helper()
	got, err := tryLease(t, l, f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func tryLease(t testing.TB, l *ipc.Link, f ipc.Frame) (gpuring.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := l.Lease(ctx, f)
	if err == nil && !bytes.Equal(got.View().Host, pixels(f.Seq)) {
		t.Fatalf("frame %d has other pixels", f.Seq)
	}
	return got, err
}

func release(t testing.TB, l gpuring.Lease) {
	t.Helper()
	if err := errors.Join(l.Valid(), l.Release(), l.Release()); err != nil {
		t.Fatal(err)
	}
	if err := l.Valid(); !errors.Is(err, gpuring.ErrReleased) {
		t.Fatalf("valid after its release: %v", err)
	}
}
