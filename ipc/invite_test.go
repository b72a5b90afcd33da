package ipc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/ipc"
)

var guests = []string{"detect", "landmarks"}

// guest answers invitations with answer.
func guest(t *testing.T, nc *ipc.Conn, answer func(ipc.Invitation, *nats.Msg)) {
	t.Helper()
	_, err := nc.Subscribe(ipc.AllCameras("lab", ipc.KindInvite), func(m *nats.Msg) {
		i, err := ipc.DecodeInvitation(m.Data)
		if err != nil {
			t.Error(err)
		}
		answer(i, m)
	})
	if err = errors.Join(err, nc.Flush()); err != nil {
		t.Fatal(err)
	}
}

func TestInvite(t *testing.T) {
	bus := startNATS(t, server.Options{})
	c := startCapture(t, connect(t, bus.ClientURL()), t.TempDir(), ipc.ServerOptions{})
	if absent, err := c.server.Invite(t.Context(), c.writer.ID(), guests); !errors.Is(err, nats.ErrNoResponders) || !slices.Equal(absent, guests) {
		t.Errorf("nobody listens: %v, %v", absent, err)
	}
	link := newLink(t, connect(t, bus.ClientURL()), ipc.LinkOptions{})
	guest(t, connect(t, bus.ClientURL()), func(i ipc.Invitation, m *nats.Msg) {
		if i != (ipc.Invitation{Camera: "cam", Ring: c.writer.ID()}) {
			t.Errorf("%+v", i)
		}
		if err := m.Respond([]byte(`{"identity":""}`)); err != nil { // of no use to anybody
			t.Error(err)
		}
		if err := errors.Join(link.Attach(t.Context(), i.Ring), ipc.Arrival{Identity: "detect"}.Answer(m)); err != nil {
			t.Error(err)
		}
	})
	waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if absent, err := c.server.Invite(waiting, c.writer.ID(), guests); !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(absent, guests[1:]) {
		t.Errorf("one is missing: %v, %v", absent, err)
	}
	if s := link.Status(); s.Transport != ipc.SHM || s.RingID != c.writer.ID() {
		t.Errorf("the guest is not attached: %+v", s)
	}
	guest(t, connect(t, bus.ClientURL()), func(_ ipc.Invitation, m *nats.Msg) {
		if err := (ipc.Arrival{Identity: "landmarks", Error: "no way"}).Answer(m); err != nil {
			t.Error(err)
		}
	})
	if absent, err := c.server.Invite(t.Context(), c.writer.ID(), guests); err != nil || len(absent) != 0 {
		t.Errorf("all have answered: %v, %v", absent, err)
	}
}

func TestInvitationsThatAreRefused(t *testing.T) {
	for _, text := range []string{``, `{}`, `{"camera":"a b","ring":"r"}`, `{"camera":"cam","ring":""}`, `{"camera":"cam"}`} {
		if i, err := ipc.DecodeInvitation([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, i)
		}
	}
	for _, text := range []string{``, `{}`, `{"identity":""}`, `[]`} {
		if a, err := ipc.DecodeArrival([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, a)
		}
	}
}
