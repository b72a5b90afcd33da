package links

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
	"facetrack/vision"
)

func overTransports(t *testing.T, test func(t *testing.T, transport string)) {
	for _, transport := range []string{"shm", "copy"} {
		t.Run(transport, func(t *testing.T) { test(t, transport) })
	}
}

// refused fails unless With drops the frame for the reason and does not use it.
func refused(t *testing.T, s *Set, f ipc.Frame, reason string, cause error) {
	t.Helper()
	got, err := s.With(t.Context(), &f, func(vision.Image) error {
		t.Errorf("frame %d was used", f.Seq)
		return nil
	})
	if got != reason || err == nil || cause != nil && !errors.Is(err, cause) {
		t.Errorf("frame %d: reason %q, error %v; want %q, %v", f.Seq, got, err, reason, cause)
	}
}

func TestWithHandsOverTheImage(t *testing.T) {
	overTransports(t, func(t *testing.T, transport string) {
		r := newRig(t)
		set := r.newSet(transport)
		for range 5 {
			f := r.publish()
			used := false
			reason, err := set.With(t.Context(), &f, func(m vision.Image) error {
				used = true
				if m.Width != 32 || m.Height != 16 || m.Format != vision.BGR || len(m.Pix) != geometry.FrameBytes() {
					t.Errorf("image %d×%d %s of %d bytes", m.Width, m.Height, m.Format, len(m.Pix))
				}
				for i, v := range m.Pix {
					if v != byte(f.Seq) {
						t.Fatalf("byte %d of frame %d is %d", i, f.Seq, v)
					}
				}
				return nil
			})
			if reason != "" || err != nil || !used {
				t.Errorf("frame %d: reason %q, %v, used %v", f.Seq, reason, err, used)
			}
		}
		if s := r.Writer.Stats(); s.Held != 0 {
			t.Errorf("%d slots are still held", s.Held)
		}
		link := set.env.Telemetry.Snapshot().Cameras["cam"].Link
		if link == nil || link.Transport != transport || !strings.HasPrefix(link.Reason, "cuda-ipc: ") || link.Reattach != 0 ||
			len(link.Attempts) == 0 || link.Attempts[0].Transport != "cuda-ipc" || link.Attempts[0].Reason == "" {
			t.Errorf("link in the telemetry: %+v", link)
		}
	})
}

func TestOverwrittenFrame(t *testing.T) {
	overTransports(t, func(t *testing.T, transport string) {
		r := newRig(t)
		set, old := r.newSet(transport), r.publish()
		for range geometry.Slots {
			r.publish()
		}
		refused(t, set, old, "overwritten", gpuring.ErrStale)
		foreign := r.publish()
		foreign.Ring = "lab/cam/1"
		refused(t, set, foreign, "ring-closed", ipc.ErrOtherRing)
	})
}

func TestClosedRing(t *testing.T) {
	r := newRig(t)
	set, f := r.newSet(), r.publish()
	if reason, err := set.With(t.Context(), &f, func(vision.Image) error { return nil }); reason != "" {
		t.Fatal(reason, err)
	}
	if err := r.Writer.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, set, f, "ring-closed", gpuring.ErrClosed)
}

func TestCaptureThatIsGone(t *testing.T) {
	overTransports(t, func(t *testing.T, transport string) {
		r := newRig(t)
		set, f := r.newSet(transport), r.publish()
		if err := errors.Join(r.Server.Close(), r.Writer.Close()); err != nil {
			t.Fatal(err)
		}
		refused(t, set, f, "unreachable", ipc.ErrNoCapture)
		r.start() // and back: the link attaches by itself
		f = r.publish()
		if reason, err := set.With(t.Context(), &f, func(vision.Image) error { return nil }); reason != "" || err != nil {
			t.Errorf("after the return: %q, %v", reason, err)
		}
	})
}

func TestNoTransportWorks(t *testing.T) {
	r := newRig(t)
	refused(t, r.newSet("cuda-ipc"), r.publish(), "unreachable", ipc.ErrAttach)
}

func TestImpossibleCameraName(t *testing.T) {
	r := newRig(t)
	f := r.publish()
	f.Camera = "a.b"
	refused(t, r.newSet(), f, "unreachable", ipc.ErrToken)
}

// A message that promises more pixels than a slot has must not reach the networks.
func TestImageIsValidated(t *testing.T) {
	r := newRig(t)
	set := r.newSet()
	for what, change := range map[string]func(*ipc.Frame){
		"too wide":       func(f *ipc.Frame) { f.Width *= 2 },
		"too high":       func(f *ipc.Frame) { f.Height++ },
		"unknown format": func(f *ipc.Frame) { f.Format = "RGBA" },
		"odd NV12":       func(f *ipc.Frame) { f.Format, f.Width = "NV12", 31 },
		"nothing":        func(f *ipc.Frame) { f.Width = 0 },
	} {
		t.Run(what, func(t *testing.T) {
			f := r.publish()
			change(&f)
			refused(t, set, f, "bad-frame", vision.ErrImage)
			if s := r.Writer.Stats(); s.Held != 0 {
				t.Error("the bad frame keeps its slot")
			}
		})
	}
}

func TestFailureOfTheUserIsInference(t *testing.T) {
	r := newRig(t)
	f, broken := r.publish(), errors.New("a network failed")
	reason, err := r.newSet().With(t.Context(), &f, func(vision.Image) error { return broken })
	if reason != "inference" || !errors.Is(err, broken) {
		t.Errorf("reason %q, %v", reason, err)
	}
	if s := r.Writer.Stats(); s.Held != 0 {
		t.Error("the slot is still held")
	}
}

func TestEveryRingErrorHasItsReason(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{gpuring.ErrStale, "overwritten"}, {gpuring.ErrClosed, "ring-closed"}, {gpuring.ErrRevoked, "revoked"},
		{gpuring.ErrTorn, "torn"}, {gpuring.ErrDevice, "gpu"}, {errors.Join(gpuring.ErrDevice, gpuring.ErrStale), "gpu"},
		{ipc.ErrNoCapture, "unreachable"}, {ipc.ErrAttach, "unreachable"}, {ipc.ErrTransfer, "unreachable"},
	} {
		if got := reason(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

// A worker that waits in the driver for ever is ended with its process.
func TestStuckProcessEnds(t *testing.T) {
	status := -1
	exit = func(code int) { status = code }
	t.Cleanup(func() { exit = os.Exit })
	newRig(t).newSet().stuck(gpuring.ErrDevice)
	if status != 1 {
		t.Errorf("exit status %d", status)
	}
}

// Two workers may meet at the first frame of a camera: there is one link all the same.
func TestOneLinkACamera(t *testing.T) {
	r := newRig(t)
	set := r.newSet()
	a, err := set.link("cam")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := set.link("cam"); a != b || err != nil {
		t.Errorf("links %p and %p, %v", a, b, err)
	}
	if other, err := set.link("other"); other == a || err != nil {
		t.Errorf("another camera's link: %v", err)
	}
	if err := errors.Join(set.Close(), set.Close()); err != nil {
		t.Error(err)
	}
}

// Everybody on the bus hears when a camera's pixels come in another way, once.
func TestChangeOfTransportIsAnnounced(t *testing.T) {
	overTransports(t, func(t *testing.T, transport string) {
		r := newRig(t)
		events := stagetest.Hear(r.Bus, ipc.KindEvents, ipc.DecodeEvent)
		set := r.newSet(transport)
		use := func(f ipc.Frame) error {
			_, err := set.With(t.Context(), &f, func(vision.Image) error { return nil })
			return err
		}
		begin := clock.Now()
		for range 3 {
			if err := use(r.publish()); err != nil {
				t.Fatal(err)
			}
		}
		e := stagetest.Next(t, events)
		if e.Camera != "cam" || e.Stage != "detect" || e.Event != ipc.EventTransport || e.Value != transport || !strings.HasPrefix(e.Reason, "cuda-ipc: ") {
			t.Errorf("attached: %+v", e)
		}
		if e.TimeNS < begin || e.TimeNS > clock.Now() {
			t.Errorf("told of %d, it began at %d", e.TimeNS, begin)
		}
		last := r.publish()
		if err := errors.Join(r.Server.Close(), r.Writer.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			refused(t, set, last, ReasonUnreachable, ipc.ErrNoCapture)
		}
		if e := stagetest.Next(t, events); e.Value != "" || !strings.Contains(e.Reason, "no capture process") {
			t.Errorf("capture is gone: %+v", e)
		}
		r.start()
		if err := use(r.publish()); err != nil {
			t.Fatal(err)
		}
		if e := stagetest.Next(t, events); e.Value != transport {
			t.Errorf("capture is back: %+v", e)
		}
		if len(events) != 0 {
			t.Errorf("%d events more", len(events))
		}
	})
}
