package ipc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/gpuring"
	"facetrack/ipc"
)

// small makes the server's messages so small that a frame needs many chunks.
var small = server.Options{MaxPayload: 4 << 10}

// overEach runs test once for each transport that this machine has.
func overEach(t *testing.T, test func(t *testing.T, want ipc.Transport, o ipc.LinkOptions)) {
	t.Run("shm", func(t *testing.T) { test(t, ipc.SHM, ipc.LinkOptions{}) })
	t.Run("copy", func(t *testing.T) { test(t, ipc.Copy, ipc.LinkOptions{Dir: t.TempDir()}) })
}

func TestLinkReadsPixels(t *testing.T) {
	overEach(t, func(t *testing.T, want ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, small)
		c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
		l := newLink(t, connect(t, nats.ClientURL()), o)
		if s := l.Status(); s.Transport != "" || s.Reason == "" {
			t.Errorf("before the first frame: %+v", s)
		}
		for range 2 * geometry.Slots {
			release(t, lease(t, l, c.publish()))
		}
		s := l.Status()
		if s.Transport != want || s.RingID != c.writer.ID() || s.Camera != "cam" || s.Reattaches != 0 || s.Since.IsZero() {
			t.Errorf("status %+v", s)
		}
		if !strings.HasPrefix(s.Reason, "cuda-ipc: the ring is in host memory: capture has no CUDA device") {
			t.Errorf("reason %q", s.Reason)
		}
		if want == ipc.Copy {
			if len(s.Attempts) != 2 || s.Attempts[1].Transport != ipc.SHM || !strings.Contains(s.Attempts[1].Reason, o.Dir+" is not shared with capture") {
				t.Errorf("attempts %+v", s.Attempts)
			}
			frames := uint64(2 * geometry.Slots)
			eventually(t, "the server has counted the last frame", func() bool { return c.server.Stats().Frames >= frames })
			if got := c.server.Stats(); got.Frames != frames || got.Bytes != frames*uint64(geometry.FrameBytes()) || got.Consumers != 1 {
				t.Errorf("server %+v", got)
			}
		}
	})
}

func TestLinkRefusesStaleTickets(t *testing.T) {
	overEach(t, func(t *testing.T, _ ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, small)
		c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
		l := newLink(t, connect(t, nats.ClientURL()), o)
		old := c.publish()
		for range geometry.Slots {
			c.publish()
		}
		if _, err := tryLease(t, l, old); !errors.Is(err, gpuring.ErrStale) {
			t.Errorf("an overwritten frame: %v", err)
		}
		foreign := c.publish()
		foreign.Ring = "lab/cam/1"
		for range 3 {
			if _, err := tryLease(t, l, foreign); !errors.Is(err, gpuring.ErrStale) {
				t.Errorf("a frame of an unknown ring: %v", err)
			}
		}
		release(t, lease(t, l, c.publish()))
		if s := l.Status(); s.Reattaches != 0 {
			t.Errorf("stale tickets made the link attach %d times more", s.Reattaches)
		}
	})
}

func TestLinkHoldsItsSlot(t *testing.T) {
	nats := startNATS(t, small)
	c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
	l := newLink(t, connect(t, nats.ClientURL()), ipc.LinkOptions{})
	f := c.publish()
	held := lease(t, l, f)
	for range 2 * geometry.Slots {
		if g := c.publish(); g.Slot == f.Slot {
			t.Fatal("a leased slot was written")
		}
	}
	release(t, held)
}

func TestLinkFollowsNewRing(t *testing.T) {
	overEach(t, func(t *testing.T, want ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, small)
		nc, dir := connect(t, nats.ClientURL()), t.TempDir()
		c := startCapture(t, nc, dir, ipc.ServerOptions{})
		l := newLink(t, connect(t, nats.ClientURL()), o)
		first := c.publish()
		held := lease(t, l, first)
		c.stop()
		if _, err := tryLease(t, l, first); !errors.Is(err, ipc.ErrNoCapture) {
			t.Errorf("capture is gone: %v", err)
		}
		if s := l.Status(); s.Transport != "" || !strings.Contains(s.Reason, "no capture process") {
			t.Errorf("status without capture: %+v", s)
		}
		c = startCapture(t, nc, dir, ipc.ServerOptions{})
		second := c.publish()
		release(t, lease(t, l, second))
		if _, err := tryLease(t, l, first); !errors.Is(err, gpuring.ErrStale) {
			t.Errorf("a frame of the old ring: %v", err)
		}
		if s := l.Status(); s.Reattaches != 1 || s.RingID != second.Ring || s.Transport != want {
			t.Errorf("status %+v", s)
		}
		if err := held.Release(); err != nil {
			t.Errorf("the lease on the old ring: %v", err)
		}
	})
}

// Whoever wants to know hears of each change of the transport once, and of nothing else.
func TestLinkTellsChangesOfItsTransport(t *testing.T) {
	overEach(t, func(t *testing.T, want ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, small)
		nc, dir := connect(t, nats.ClientURL()), t.TempDir()
		var told []ipc.LinkStatus
		heard := true
		o.Changed = func(s ipc.LinkStatus) bool {
			if heard {
				told = append(told, s)
			}
			return heard
		}
		l := newLink(t, connect(t, nats.ClientURL()), o)
		expect := func(when string, want ...ipc.Transport) {
			t.Helper()
			var got []ipc.Transport
			for _, s := range told {
				if got = append(got, s.Transport); s.Camera != "cam" || s.Reason == "" {
					t.Errorf("%s: told %+v", when, s)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: told of %q, want %q", when, got, want)
			}
		}
		if err := l.Attach(t.Context(), ""); !errors.Is(err, ipc.ErrNoCapture) {
			t.Error(err)
		}
		expect("before capture")
		c := startCapture(t, nc, dir, ipc.ServerOptions{})
		f := c.publish()
		release(t, lease(t, l, f))
		release(t, lease(t, l, c.publish()))
		expect("two frames", want)
		if told[0].RingID != f.Ring {
			t.Errorf("told of ring %q, want %q", told[0].RingID, f.Ring)
		}
		c.stop()
		c = startCapture(t, nc, dir, ipc.ServerOptions{})
		release(t, lease(t, l, c.publish()))
		expect("another ring, reached alike", want)
		last := c.publish()
		c.stop()
		for range 3 {
			if _, err := tryLease(t, l, last); !errors.Is(err, ipc.ErrNoCapture) {
				t.Errorf("capture is gone: %v", err)
			}
		}
		expect("capture away", want, "")
		if !strings.Contains(told[1].Reason, "no capture process") {
			t.Errorf("reason %q", told[1].Reason)
		}
		heard = false
		c = startCapture(t, nc, dir, ipc.ServerOptions{})
		release(t, lease(t, l, c.publish()))
		expect("capture back, which nobody hears", want, "")
		heard = true
		c.stop()
		c = startCapture(t, nc, dir, ipc.ServerOptions{})
		release(t, lease(t, l, c.publish()))
		expect("told at the next attach", want, "", want)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		expect("closed", want, "", want)
	})
}

func TestLinkWithoutCapture(t *testing.T) {
	nats := startNATS(t, small)
	l := newLink(t, connect(t, nats.ClientURL()), ipc.LinkOptions{})
	if err := l.Attach(context.Background(), ""); !errors.Is(err, ipc.ErrNoCapture) || !strings.Contains(err.Error(), "start capture for camera cam of rig lab") {
		t.Error(err)
	}
	c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
	if err := l.Attach(context.Background(), ""); err != nil {
		t.Error(err)
	}
	release(t, lease(t, l, c.publish()))
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := tryLease(t, l, c.publish()); !errors.Is(err, gpuring.ErrClosed) {
		t.Errorf("a closed link: %v", err)
	}
}

func TestLinkThatMayNotCopy(t *testing.T) {
	nats := startNATS(t, small)
	startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
	l := newLink(t, connect(t, nats.ClientURL()), ipc.LinkOptions{Dir: t.TempDir(), Allow: []ipc.Transport{ipc.SHM}})
	err := l.Attach(context.Background(), "")
	if !errors.Is(err, ipc.ErrAttach) {
		t.Fatal(err)
	}
	for _, want := range []string{"cuda-ipc: not allowed", "shm: ", "is not shared with capture", "copy: not allowed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestSilentConsumerLosesItsReader(t *testing.T) {
	nats := startNATS(t, small)
	c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{MaxSilence: 100 * time.Millisecond})
	l := newLink(t, connect(t, nats.ClientURL()), ipc.LinkOptions{Allow: []ipc.Transport{ipc.Copy}})
	eventually(t, "it attaches", func() bool {
		got, err := tryLease(t, l, c.publish())
		return err == nil && got.Release() == nil
	})
	eventually(t, "the silent consumer is dropped", func() bool { return c.server.Stats().Consumers == 0 && len(c.writer.Readers()) == 0 })
	eventually(t, "it attaches again", func() bool {
		got, err := tryLease(t, l, c.publish())
		return err == nil && got.Release() == nil
	})
	if s := l.Status(); s.Reattaches == 0 {
		t.Errorf("status %+v", s)
	}
}

func TestLivingConsumerKeepsItsReader(t *testing.T) {
	nats := startNATS(t, small)
	c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{MaxSilence: patience})
	nc := connect(t, nats.ClientURL())
	l := newLink(t, nc, ipc.LinkOptions{Allow: []ipc.Transport{ipc.Copy}})
	release(t, lease(t, l, c.publish()))
	sent := nc.Stats().OutMsgs
	eventually(t, "two pings", func() bool { return nc.Stats().OutMsgs >= sent+2 })
	if got := c.server.Stats(); got.Consumers != 1 || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the consumer has left", func() bool { return c.server.Stats().Consumers == 0 && len(c.writer.Readers()) == 0 })
}

func TestLinkFromManyGoroutines(t *testing.T) {
	overEach(t, func(t *testing.T, _ ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, server.Options{})
		c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
		l := newLink(t, connect(t, nats.ClientURL()), o)
		f := c.publish()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					got, err := tryLease(t, l, f)
					if err != nil {
						t.Error(err)
						return
					}
					if err := got.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if s := l.Status(); s.Reattaches != 0 {
			t.Errorf("attached %d times more", s.Reattaches)
		}
	})
}

func TestLinkOutlivesNATS(t *testing.T) {
	overEach(t, func(t *testing.T, want ipc.Transport, o ipc.LinkOptions) {
		nats := startNATS(t, small)
		c := startCapture(t, connect(t, nats.ClientURL()), t.TempDir(), ipc.ServerOptions{})
		nc := connect(t, nats.ClientURL())
		l := newLink(t, nc, o)
		release(t, lease(t, l, c.publish()))
		restartNATS(t, nats, small, func() {
			eventually(t, "disconnected", func() bool { return !nc.IsConnected() })
			got, err := tryLease(t, l, c.publish())
			switch {
			case want == ipc.SHM && err != nil:
				t.Errorf("shared memory needs no NATS: %v", err)
			case want == ipc.Copy && err == nil:
				t.Error("a copy without NATS")
			case err == nil:
				release(t, got)
			}
		})
		eventually(t, "the link works again", func() bool {
			got, err := tryLease(t, l, c.publish())
			return err == nil && got.Release() == nil
		})
		if s := l.Status(); s.Transport != want {
			t.Errorf("status %+v", s)
		}
	})
}
