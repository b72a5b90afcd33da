package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
)

const drawn = "synthetic:faces=1,size=320x240,frames=5,format=NV12"

func TestMemoryPlaysTheMaterial(t *testing.T) {
	want := mustOpen(t, drawn, Options{})
	got := mustOpen(t, "memory::"+drawn, Options{})
	if i := got.Info(); i.Frames != 5 || i.geometry() != want.Info().geometry() || i.FPS != want.Info().FPS || i.Live || !i.Seekable {
		t.Errorf("info %+v", i)
	}
	for n := range 5 {
		if !bytes.Equal(next(t, got), next(t, want)) {
			t.Errorf("frame %d differs", n)
		}
	}
	if n, err := drain(got); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames more, %v", n, err)
	}
}

// A later start moves the frames around the end: there are as many as before.
func TestMemoryStart(t *testing.T) {
	plain, moved := mustOpen(t, "memory::"+drawn, Options{}), mustOpen(t, "memory:start=3,frames=4:"+drawn, Options{})
	var frames [][]byte
	for range 4 {
		frames = append(frames, next(t, plain))
	}
	for i := range 4 {
		if !bytes.Equal(next(t, moved), frames[(i+3)%4]) {
			t.Errorf("frame %d is not number %d", i, (i+3)%4)
		}
	}
	if _, err := moved.Grab(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after as many frames as were asked for: %v", err)
	}
	again := mustOpen(t, "memory::"+drawn, Options{})
	if err := again.Skip(2); err != nil || !bytes.Equal(next(t, again), frames[2]) {
		t.Errorf("skip: %v, or another frame", err)
	}
	if err := again.Skip(3); !errors.Is(err, io.EOF) {
		t.Errorf("skip beyond the end: %v", err)
	}
}

// luma is the mean brightness of a part of an NV12 frame, in shares of its sides.
func luma(frame []byte, info Info, x0, y0, x1, y1 float64) float64 {
	sum, n := 0.0, 0.0
	for y := int(y0 * float64(info.Height)); y < int(y1*float64(info.Height)); y++ {
		for x := int(x0 * float64(info.Width)); x < int(x1*float64(info.Width)); x++ {
			sum, n = sum+float64(frame[y*info.Width+x]), n+1
		}
	}
	return sum / n
}

// Scaled, the picture fills the frame: nine sixteenths of a 4:3 picture's height are seen in 16:9, from its middle.
func TestMemoryScales(t *testing.T) {
	small := mustOpen(t, "synthetic:faces=1,size=320x240,frames=1,format=BGR", Options{})
	bgr := next(t, small)
	flat := make([]byte, 320*240*3/2)
	convertRect(flat, bgr, NV12, 320, 240, 0, 0, 320, 240)
	for _, format := range []string{"NV12", "BGR", "YUYV"} { // of the material
		large := mustOpen(t, "memory:size=1280x720:synthetic:faces=1,size=320x240,frames=1,format="+format, Options{})
		info := large.Info()
		if info.geometry() != "1280×720 NV12" {
			t.Fatalf("geometry %s", info.geometry())
		}
		frame := next(t, large)
		const top = (1 - 0.75) / 2 // of the picture is cut off: it is 240 high, 180 are seen
		for i := range 8 {
			for j := range 8 {
				x, y := float64(i)/8, float64(j)/8
				got := luma(frame, info, x, y, x+0.125, y+0.125)
				want := luma(flat, small.Info(), x, top+0.75*y, x+0.125, top+0.75*(y+0.125))
				if math.Abs(got-want) > 6 {
					t.Errorf("%s: tile %d,%d has brightness %.1f, %.1f in the picture", format, i, j, got, want)
				}
			}
		}
	}
}

func TestMemoryIsShared(t *testing.T) {
	spec := "memory:frames=3:" + drawn
	var wg sync.WaitGroup
	sources := make([]Source, 4)
	for i := range sources {
		wg.Go(func() {
			s, err := Open(context.Background(), spec, Options{})
			if err != nil {
				t.Error(err)
			}
			sources[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	first := sources[0].(*memory).film
	for _, s := range sources {
		if s.(*memory).film != first {
			t.Error("a film was decoded twice")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(films.open) != 0 {
		t.Errorf("%d films stay after the last source was closed", len(films.open))
	}
}

func TestMemoryLoops(t *testing.T) {
	s, err := NewLoop(t.Context(), func(ctx context.Context) (Source, error) { return Open(ctx, "memory:frames=2:"+drawn, Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	first, second := next(t, s), next(t, s)
	if !bytes.Equal(next(t, s), first) || !bytes.Equal(next(t, s), second) {
		t.Error("the second pass is not the first")
	}
}

func TestMemoryWrongSpecifications(t *testing.T) {
	for spec, parts := range map[string][]string{
		"memory:clip.gif":                {"PATH"},
		"memory:size=2x2:" + drawn:       {"size=2x2", "160x120"},
		"memory:format=RGB:" + drawn:     {"format=RGB", "NV12"},
		"memory:frames=0:" + drawn:       {"frames=0"},
		"memory:faces=2:" + drawn:        {`"faces"`, "start"},
		"memory:phase=1.5:" + drawn:      {"phase=1.5", "0 to 1"},
		"memory:phase=NaN:" + drawn:      {"phase=NaN", "0 to 1"},
		"memory::rtsp://camera/stream":   {"recording"},
		"memory::synthetic:faces=banana": {"banana"},
	} {
		_, err := Open(t.Context(), spec, Options{})
		wantError(t, err, ErrSpec, parts...)
	}
	_, err := Open(t.Context(), "memory::no/such.gif", Options{})
	wantError(t, err, ErrNotFound, "no/such.gif")
	if len(films.open) != 0 {
		t.Error("a film that could not be decoded stays")
	}
}
