package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"
)

// fakeCamera gives frames instants 1, 2, 3… until it is told to fail.
type fakeCamera struct {
	info   Info
	left   int // frames before err
	err    error
	at     int64
	closed int
}

func (c *fakeCamera) Info() Info {
	i := c.info
	i.Live, i.Name = true, "fake"
	return i
}

func (c *fakeCamera) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if c.left == 0 {
		return 0, c.err
	}
	c.left--
	c.at++
	return c.at, nil
}

func (c *fakeCamera) Retrieve(dst []byte) error { dst[0] = byte(c.at); return nil }
func (c *fakeCamera) Skip(int64) error          { return nil }
func (c *fakeCamera) Close() error              { c.closed++; return nil }

// script answers each call of Open with the next entry: a camera or an error.
type script struct {
	t       *testing.T
	answers []any
	clk     fakeClock
	events  []Event
}

func (s *script) open(context.Context) (Source, error) {
	if len(s.answers) == 0 {
		s.t.Fatal("opened once too often")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := a.(error); ok {
		return nil, err
	}
	return a.(Source), nil
}

func (s *script) options(jitter float64) ReopenOptions {
	return ReopenOptions{Open: s.open, Clock: &s.clk, Logger: slog.New(slog.DiscardHandler), Jitter: func() float64 { return jitter },
		Notify: func(e Event) { s.events = append(s.events, e) }}
}

func (s *script) story() (out []string) {
	for _, e := range s.events {
		out = append(out, e.State.String())
	}
	return out
}

var vga = Info{Width: 640, Height: 480, Format: BGR}

func TestReopenerBringsTheCameraBack(t *testing.T) {
	unplugged := fmt.Errorf("%w: unplugged", ErrLost)
	first := &fakeCamera{info: vga, left: 2, err: unplugged}
	s := &script{t: t, answers: []any{first, ErrNotFound, ErrNotFound, &fakeCamera{info: vga, left: 1, err: io.EOF}, &fakeCamera{info: vga, left: 1}}}
	r, err := NewReopener(t.Context(), s.options(0.999999))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 2, 1, 1} {
		if at := grab(t, r); at != want {
			t.Errorf("instant %d, want %d", at, want)
		}
	}
	if first.closed != 1 {
		t.Errorf("the lost camera was closed %d times", first.closed)
	}
	want := []string{"lost", "retrying", "retrying", "retrying", "back", "lost", "retrying", "back"}
	if got := s.story(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if !errors.Is(s.events[0].Err, unplugged) || !errors.Is(s.events[2].Err, ErrNotFound) || s.events[4].Attempt != 3 {
		t.Errorf("reasons: %+v", s.events)
	}
	wantError(t, s.events[5].Err, ErrLost, "ended") // a live stream has no end
	mustClose(t, r)
	if _, err := r.Grab(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Grab after Close: %v", err)
	}
}

func TestReopenerBacksOff(t *testing.T) {
	for jitter, want := range map[float64][]time.Duration{
		0: {250e6, 500e6, 1e9, 2e9, 4e9, 4e9, 4e9},
		1: {500e6, 1e9, 2e9, 4e9, 8e9, 8e9, 8e9},
	} {
		s := &script{t: t, answers: []any{ErrNotFound, ErrLost, ErrLost, ErrLost, ErrCorrupt, ErrPermission, ErrLost, &fakeCamera{info: vga}}}
		if _, err := NewReopener(t.Context(), s.options(jitter)); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(s.clk.sleeps) != fmt.Sprint(want) {
			t.Errorf("jitter %v: waits %v, want %v", jitter, s.clk.sleeps, want)
		}
	}
}

func TestReopenerReportsNewGeometryOnce(t *testing.T) {
	hd := Info{Width: 1280, Height: 720, Format: NV12}
	s := &script{t: t, answers: []any{&fakeCamera{info: vga, err: ErrLost}, &fakeCamera{info: hd, left: 2, err: ErrLost}}}
	r, err := NewReopener(t.Context(), s.options(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Grab(t.Context())
	wantError(t, err, ErrGeometry, "640×480 BGR", "1280×720 NV12")
	if !r.Info().SameGeometry(hd) {
		t.Errorf("info is still %+v", r.Info())
	}
	if at := grab(t, r); at != 1 {
		t.Errorf("frame after the change: %d", at)
	}
	dst := make([]byte, 1)
	if err := r.Retrieve(dst); err != nil || dst[0] != 1 {
		t.Errorf("Retrieve: %v %v", dst, err)
	}
}

func TestReopenerGivesUpOnWhatWaitingCannotCure(t *testing.T) {
	for _, final := range []error{ErrSpec, ErrUnsupported} {
		s := &script{t: t, answers: []any{final}}
		_, err := NewReopener(t.Context(), s.options(0))
		wantError(t, err, final)
	}
	s := &script{t: t, answers: []any{&fakeCamera{info: vga, err: ErrLost}, ErrUnsupported}}
	r, err := NewReopener(t.Context(), s.options(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Grab(t.Context())
	wantError(t, err, ErrUnsupported)
	wantError(t, r.Retrieve(nil), ErrNoFrame)
	mustClose(t, r)
}

// TestReopenerHonoursTheContext: a cancelled wait returns at once, and a later Grab goes on trying.
func TestReopenerHonoursTheContext(t *testing.T) {
	s := &script{t: t, answers: []any{&fakeCamera{info: vga, err: ErrLost}, &fakeCamera{info: vga, left: 1}}}
	opts := s.options(0)
	ctx, cancel := context.WithCancel(t.Context())
	opts.Clock = nil // the system's: half a second would pass without the context
	opts.Notify = func(e Event) {
		if e.State == Retrying {
			cancel()
		}
	}
	r, err := NewReopener(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Grab(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Grab: %v", err)
	}
	if len(s.answers) != 1 {
		t.Fatal("a cancelled Reopener opened the camera")
	}
	r.opts.Clock = &s.clk
	if at := grab(t, r); at != 1 {
		t.Errorf("instant %d", at)
	}
	if _, err := NewReopener(ctx, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("opened under a cancelled context: %v", err)
	}
}
