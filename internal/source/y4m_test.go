package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// y4mFile builds a file of frames whose samples count up from the frame's index times ten.
func y4mFile(header string, payload, frames int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "YUV4MPEG2 %s\n", header)
	for f := range frames {
		b.WriteString("FRAME\n")
		for i := range payload {
			b.WriteByte(byte(10*f + i))
		}
	}
	return b.Bytes()
}

func TestY4MPacking(t *testing.T) {
	for _, c := range []struct {
		header  string
		payload int
		format  string
		want    []byte // of frame 1, whose samples are 10, 11, 12…
	}{
		{"W4 H2 F25:1 Ip A1:1 C420jpeg", 12, NV12, []byte{10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 19, 21}},
		{"W4 H2", 12, NV12, []byte{10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 19, 21}},
		{"H2 W2 C420mpeg2 XYSCSS=420MPEG2", 6, NV12, []byte{10, 11, 12, 13, 14, 15}},
		{"W4 H1 C422", 8, YUYV, []byte{10, 14, 11, 16, 12, 15, 13, 17}},
		{"W2 H2 Cmono", 4, NV12, []byte{10, 11, 12, 13, 128, 128}},
	} {
		s := mustOpen(t, writeFile(t, "a.y4m", y4mFile(c.header, c.payload, 2)), Options{})
		if s.Info().Format != c.format || s.Info().Frames != 2 {
			t.Errorf("%s: info %+v", c.header, s.Info())
		}
		next(t, s)
		if got := next(t, s); !bytes.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.header, got, c.want)
		}
	}
	checkContract(t, 3, func() Source {
		return mustOpen(t, writeFile(t, "a.y4m", y4mFile("W4 H2 F25:1", 12, 3)), Options{})
	})
}

// TestY4MColour checks 4:4:4 and odd sizes, which are converted, against the primaries of BT.601.
func TestY4MColour(t *testing.T) {
	red, white := [3]byte{81, 90, 240}, [3]byte{235, 128, 128}
	file := "YUV4MPEG2 W2 H1 C444\nFRAME\n" + string([]byte{red[0], white[0], red[1], white[1], red[2], white[2]})
	near(t, "444", next(t, mustOpen(t, writeFile(t, "c.y4m", []byte(file)), Options{})), []byte{0, 0, 255, 255, 255, 255}, 2)

	file = "YUV4MPEG2 W3 H1 C420\nFRAME\n" + string([]byte{81, 81, 235, 90, 128, 240, 128})
	near(t, "odd 420", next(t, mustOpen(t, writeFile(t, "o.y4m", []byte(file)), Options{})), []byte{0, 0, 255, 0, 0, 255, 255, 255, 255}, 2)

	file = "YUV4MPEG2 W1 H1 Cmono\nFRAME\n" + string([]byte{16})
	near(t, "odd mono", next(t, mustOpen(t, writeFile(t, "m.y4m", []byte(file)), Options{})), []byte{0, 0, 0}, 0)

	file = "YUV4MPEG2 W2 H2 C420jpeg XCOLORRANGE=FULL\nFRAME\n" + string([]byte{0, 255, 128, 0, 0, 255})
	near(t, "full range", next(t, mustOpen(t, writeFile(t, "f.y4m", []byte(file)), Options{})), []byte{16, 235, 126, 16, 16, 240}, 0)
}

func near(t *testing.T, what string, got, want []byte, tolerance int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if d := int(got[i]) - int(want[i]); d > tolerance || d < -tolerance {
			t.Errorf("%s: %v, want %v within %d", what, got, want, tolerance)
			return
		}
	}
}

func TestY4MRates(t *testing.T) {
	for header, want := range map[string]float64{
		"W2 H2 F30000:1001": 30000.0 / 1001, "W2 H2 F0:0": 30, "W2 H2": 30, "W2 H2 F1000000:1": 30, "W2 H2 F15:1": 15,
	} {
		s := mustOpen(t, writeFile(t, "a.y4m", y4mFile(header, 6, 1)), Options{})
		if got := s.Info().FPS; got != want {
			t.Errorf("%s: %v frames/s, want %v", header, got, want)
		}
	}
}

func TestY4MHeaderErrors(t *testing.T) {
	for header, want := range map[string]string{
		"": "names no width", "W2": "names no width", "W0 H2": "W0", "W2 H-2": "H-2", "W2 H99999": "H99999",
		"W2 H2 F30": "F30", "W2 H2 Fx:1": "Fx:1", "W65535 H65535": "65535×65535",
	} {
		openError(t, writeFile(t, "bad.y4m", y4mFile(header, 6, 1)), ErrCorrupt, want, "bad.y4m")
	}
	openError(t, writeFile(t, "deep.y4m", y4mFile("W2 H2 C420p10", 12, 1)), ErrUnsupported, "C420p10", "8-bit", "deep.y4m")
	openError(t, writeFile(t, "text.y4m", []byte("hello\n")), ErrCorrupt, "YUV4MPEG2")
	openError(t, writeFile(t, "long.y4m", []byte(strings.Repeat("x", 5000))), ErrCorrupt, "no line end", "byte 1024")
	openError(t, writeFile(t, "empty.y4m", []byte("YUV4MPEG2 W2 H2\n")), ErrCorrupt, "no frame")
	openError(t, writeFile(t, "mark.y4m", []byte("YUV4MPEG2 W2 H2\nFRAMES\n123456")), ErrCorrupt, "no FRAME mark at byte 16")
}

func TestY4MCutOffNamesTheByte(t *testing.T) {
	data := y4mFile("W4 H2", 12, 3) // header 16 bytes, frames of 18
	s := mustOpen(t, writeFile(t, "cut.y4m", data[:16+18+18+10]), Options{})
	if s.Info().Frames != -1 {
		t.Errorf("a cut file announces %d frames", s.Info().Frames)
	}
	n, err := drain(s)
	wantError(t, err, ErrCorrupt, "ends at byte 62", "inside frame 2", "byte 70")
	if n != 2 {
		t.Errorf("%d frames before the cut, want 2", n)
	}
	s = mustOpen(t, writeFile(t, "cut.y4m", data[:16+18+3]), Options{})
	_, err = drain(s)
	wantError(t, err, ErrCorrupt, "frame 1", "byte 37")
}

func TestY4MFrameParameters(t *testing.T) {
	data := bytes.ReplaceAll(y4mFile("W2 H2", 6, 2), []byte("FRAME\n"), []byte("FRAME Ip\n"))
	s := mustOpen(t, writeFile(t, "p.y4m", data), Options{})
	next(t, s)
	if got := next(t, s); got[0] != 10 {
		t.Errorf("second frame starts with %d, want 10", got[0])
	}
}

func FuzzY4M(f *testing.F) {
	f.Add(y4mFile("W4 H2 F25:1 Ip A1:1 C420jpeg", 12, 2))
	f.Add(y4mFile("W3 H3 C444 XCOLORRANGE=FULL", 27, 1))
	f.Add(y4mFile("W4 H2 C422", 16, 1)[:30])
	f.Add([]byte("YUV4MPEG2 W2 H2 Cmono\nFRAME Ip\n1234FRAME\n12"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := newY4M(bytes.NewReader(data), int64(len(data)), "fuzz.y4m", Options{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("error %v has no sentinel", err)
			}
			return
		}
		dst := make([]byte, s.Info().FrameBytes())
		for n := 0; ; n++ {
			if _, err := s.Grab(context.Background()); err != nil {
				if n == 0 || !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.EOF) {
					t.Fatalf("after %d frames: %v", n, err)
				}
				return
			}
			if err := s.Retrieve(dst); err != nil {
				t.Fatal(err)
			}
		}
	})
}
