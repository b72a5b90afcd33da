package source

import (
	"context"
	"errors"
	"io"
	"testing"
)

func opener(spec string, opens *int) OpenFunc {
	return func(ctx context.Context) (Source, error) {
		*opens++
		return Open(ctx, spec, Options{})
	}
}

func newLoop(t *testing.T, open OpenFunc) *Loop {
	t.Helper()
	l, err := NewLoop(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, l) })
	return l
}

func indexOf(t *testing.T, s Source) uint32 {
	t.Helper()
	i, err := SyntheticIndex(next(t, s), s.Info().Format, s.Info().Width)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestLoopRestartsSeamlessly(t *testing.T) {
	opens := 0
	l := newLoop(t, opener("synthetic:frames=3,size=160x120", &opens))
	if l.Info().Frames != -1 {
		t.Errorf("a loop announces %d frames", l.Info().Frames)
	}
	for i := range uint32(10) {
		if got := indexOf(t, l); got != i%3 {
			t.Errorf("frame %d shows %d", i, got)
		}
	}
	if opens != 4 {
		t.Errorf("opened %d times, want 4", opens)
	}
}

func TestLoopSkip(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 4, 7, 3_000_000_002} {
		for already := range 5 {
			opens := 0
			l := newLoop(t, opener("synthetic:frames=3,size=160x120", &opens))
			for range already {
				grab(t, l)
			}
			if err := l.Skip(n); err != nil {
				t.Fatal(err)
			}
			if got, want := indexOf(t, l), uint32((int64(already)+n)%3); got != want {
				t.Errorf("%d frames, then Skip(%d): shows %d, want %d", already, n, got, want)
			}
			if opens > 8 {
				t.Errorf("Skip(%d) opened the source %d times", n, opens)
			}
		}
	}
}

func TestLoopErrors(t *testing.T) {
	opens := 0
	l := newLoop(t, opener("synthetic:frames=0,size=160x120", &opens))
	_, err := l.Grab(t.Context())
	wantError(t, err, ErrCorrupt, "no frames")
	wantError(t, l.Skip(1), ErrCorrupt, "no frames")

	specs := []string{"synthetic:frames=1,size=160x120", "synthetic:frames=1,size=320x240"}
	l = newLoop(t, func(ctx context.Context) (Source, error) {
		spec := specs[0]
		specs = specs[1:]
		return Open(ctx, spec, Options{})
	})
	grab(t, l)
	_, err = l.Grab(t.Context())
	wantError(t, err, ErrCorrupt, "160×120", "320×240")

	_, err = NewLoop(t.Context(), func(context.Context) (Source, error) { return &fakeCamera{}, nil })
	wantError(t, err, ErrUnsupported, "live")
	_, err = NewLoop(t.Context(), func(context.Context) (Source, error) { return nil, io.ErrUnexpectedEOF })
	wantError(t, err, io.ErrUnexpectedEOF)
}

func TestClosedLoop(t *testing.T) {
	opens := 0
	l := newLoop(t, opener("synthetic:frames=1,size=160x120", &opens))
	mustClose(t, l)
	if _, err := l.Grab(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Grab after Close: %v", err)
	}
	wantError(t, l.Skip(1), ErrClosed)
}
