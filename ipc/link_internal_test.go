package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
)

// startPair makes a ring with one published frame, its server, and a link to it.
func startPair(t *testing.T, wrap func(gpuring.Writer) gpuring.Writer, o LinkOptions) (*Link, Frame) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	log := slog.New(slog.DiscardHandler)
	nc, err := Connect(s.ClientURL(), t.Name(), log, nats.Timeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	g := gpuring.Geometry{Width: 8, Height: 4, Format: gpuring.BGR, Slots: 2}
	w, err := gpuring.Create(gpuring.Options{Dir: t.TempDir(), Rig: "lab", Camera: "cam", Geometry: g, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	claim, err := w.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := claim.Publish(w.NextSeq())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := NewServer(nc.Conn, "lab", "cam", wrap(w), log, ServerOptions{MaxSilence: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	o.Timeout = 30 * time.Second
	l, err := NewLink(nc.Conn, "lab", "cam", "test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, Frame{Camera: "cam", Seq: ticket.Seq, Ring: ticket.RingID, Slot: ticket.Slot, Generation: ticket.Generation, Width: 8, Height: 4, Format: "BGR"}
}

func plainWriter(w gpuring.Writer) gpuring.Writer { return w }

// brokenChannel fails with an error that no ring makes in normal use.
type brokenChannel struct{ channel }

var errBroken = errors.New("mapping lost")

func (brokenChannel) lease(context.Context, gpuring.Ticket) (Lease, error) {
	return nil, errBroken
}

func TestBrokenTransportFallsBack(t *testing.T) {
	l, f := startPair(t, plainWriter, LinkOptions{})
	if err := l.Attach(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if s := l.Status(); s.Transport != SHM {
		t.Fatalf("status %+v", s)
	}
	l.now.channel = brokenChannel{l.now.channel}
	for range 2 {
		lease, err := l.Lease(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	s := l.Status()
	if s.Transport != Copy || s.Reattaches != 1 || !strings.Contains(s.Reason, "shm: broke on this ring: mapping lost") {
		t.Errorf("status %+v", s)
	}
}

// closing counts its closes.
type closing struct{ closed int }

type noLease struct{ Lease }

func (noLease) Release() error { return nil }

func (*closing) lease(context.Context, gpuring.Ticket) (Lease, error) { return noLease{}, nil }

func (*closing) reaches() reach { return reach{} }

func (c *closing) Close() error {
	c.closed++
	return nil
}

func TestRetiredAttachmentClosesWithItsLastLease(t *testing.T) {
	ch := &closing{}
	a := &attachment{channel: ch}
	var held [2]gpuring.Lease
	for i := range held {
		var err error
		if held[i], err = a.lease(t.Context(), gpuring.Ticket{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		do     func()
		closed int
	}{
		{a.retire, 0},
		{func() { _ = held[0].Release() }, 0},
		{func() { _ = held[0].Release() }, 0},
		{func() { _ = held[1].Release() }, 1},
		{a.retire, 1},
	} {
		if step.do(); ch.closed != step.closed {
			t.Errorf("step %d: closed %d times, want %d", i, ch.closed, step.closed)
		}
	}
	if _, err := a.lease(t.Context(), gpuring.Ticket{}); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("a lease after it was retired: %v", err)
	}
}

func TestSessionIsKeptByUse(t *testing.T) {
	s := &Server{ring: &served{}, sessions: map[string]*session{"a": {}, "b": {}}}
	if _, err := s.serve(&AttachRequest{Op: opPing, Session: "a"}); err != nil {
		t.Fatal(err)
	}
	if s.sessions["a"].seen.IsZero() || !s.sessions["b"].seen.IsZero() {
		t.Error("a ping is a sign of life of its session, and of no other")
	}
}

// torn makes readers whose leases do not last until their release.
type torn struct{ gpuring.Writer }

type tornReader struct{ gpuring.Reader }

type tornLease struct{ gpuring.Lease }

func (w torn) AttachLocal(identity string) (gpuring.Reader, error) {
	r, err := w.Writer.AttachLocal(identity)
	return tornReader{r}, err
}

func (r tornReader) Lease(t gpuring.Ticket) (gpuring.Lease, error) {
	l, err := r.Reader.Lease(t)
	return tornLease{l}, err
}

func (l tornLease) Valid() error { return gpuring.ErrRevoked }

func (l tornLease) Release() error { return errors.Join(gpuring.ErrRevoked, l.Lease.Release()) }

func TestRevokedCopyIsNotSent(t *testing.T) {
	l, f := startPair(t, func(w gpuring.Writer) gpuring.Writer { return torn{w} }, LinkOptions{Allow: []Transport{Copy}})
	if _, err := l.Lease(t.Context(), f); !errors.Is(err, gpuring.ErrRevoked) {
		t.Errorf("a copy whose lease was taken away: %v", err)
	}
}

func TestWhyNotShared(t *testing.T) {
	missing := fmt.Errorf("%w: %w", gpuring.ErrNotShared, fs.ErrNotExist)
	denied := fmt.Errorf("%w: %w", gpuring.ErrNotShared, fs.ErrPermission)
	here := AttachReply{Host: "a", UID: os.Geteuid()}
	for _, c := range []struct {
		err   error
		reply AttachReply
		want  string
	}{
		{missing, here, "/dev/shm is not shared with capture: gpuring"},
		{missing, AttachReply{Host: "b", UID: os.Geteuid()}, "capture runs on another host, b: "},
		{missing, AttachReply{Host: "a", UID: os.Geteuid() + 1}, "permission denied: capture runs as another user (uid "},
		{denied, here, "permission denied"},
		{gpuring.ErrReadersFull, here, "gpuring: reader table full"},
		{errBroken, here, "mapping lost"},
	} {
		got := whyNotShared(c.err, "a", "/dev/shm", &c.reply)
		if !strings.HasPrefix(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v, want %q", got, c.want)
		}
	}
}
