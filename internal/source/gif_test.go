package source

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"io"
	"path/filepath"
	"testing"

	"facetrack/internal/testutil"
)

var gifPalette = color.Palette{color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255}, color.RGBA{0, 0, 255, 255}, color.RGBA{}}

// Letters of a drawn frame: red, green, blue, and a dot for transparent.
func gifPicture(r image.Rectangle, letters string) *image.Paletted {
	img := image.NewPaletted(r, gifPalette)
	for i, c := range []byte(letters) {
		img.Pix[i] = map[byte]uint8{'r': 0, 'g': 1, 'b': 2, '.': 3}[c]
	}
	return img
}

// letters reads a BGR frame back; black is a dot.
func letters(bgr []byte) string {
	var out []byte
	for i := 0; i < len(bgr); i += 3 {
		switch {
		case bgr[i] == 255:
			out = append(out, 'b')
		case bgr[i+1] == 255:
			out = append(out, 'g')
		case bgr[i+2] == 255:
			out = append(out, 'r')
		default:
			out = append(out, '.')
		}
	}
	return string(out)
}

func encodeGIF(t testing.TB, g *gif.GIF) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// disposalGIF is 4×2 and uses every disposal method, offsets and transparency.
func disposalGIF(t testing.TB) []byte {
	full, middle := image.Rect(0, 0, 4, 2), image.Rect(1, 0, 3, 2)
	return encodeGIF(t, &gif.GIF{
		Config: image.Config{Width: 4, Height: 2, ColorModel: gifPalette},
		Image: []*image.Paletted{
			gifPicture(full, "rrrrrrrr"),
			gifPicture(middle, "g.g."),
			gifPicture(middle, "bbbb"),
			gifPicture(image.Rect(3, 1, 4, 2), "g"),
			gifPicture(image.Rect(0, 0, 1, 1), "b"),
			gifPicture(image.Rect(0, 0, 1, 1), "."),
		},
		Delay:    []int{4, 4, 4, 4, 4, 0},
		Disposal: []byte{gif.DisposalNone, gif.DisposalNone, gif.DisposalPrevious, gif.DisposalBackground, gif.DisposalNone, 0},
	})
}

var disposalWant = []string{
	"rrrrrrrr",
	"rgrrrgrr", // transparent pixels keep what is below
	"rbbrrbbr", // drawn over, to be undone
	"rgrrrgrg", // undone, then one pixel of green
	"bgrrrgr.", // that pixel is cleared
	"bgrrrgr.", // a transparent pixel changes nothing
}

func TestGIFCompositing(t *testing.T) {
	path := writeFile(t, "disposal.gif", disposalGIF(t))
	s := mustOpen(t, path, Options{})
	want := Info{Width: 4, Height: 2, Format: BGR, FPS: 600.0 / 30, Frames: 6, Seekable: true, Name: path}
	if s.Info() != want {
		t.Errorf("info %+v, want %+v", s.Info(), want)
	}
	for i, want := range disposalWant {
		if got := letters(next(t, s)); got != want {
			t.Errorf("frame %d is %q, want %q", i, got, want)
		}
	}
	checkContract(t, 6, func() Source { return mustOpen(t, path, Options{}) })
}

// TestGIFCutAnywhere cuts the file at every byte: complete frames still play, then one clear error.
func TestGIFCutAnywhere(t *testing.T) {
	data := disposalGIF(t)
	for n := range len(data) {
		s, err := newGIF(data[:n], "cut.gif", Options{})
		if err != nil {
			wantError(t, err, ErrCorrupt, "cut.gif")
			continue
		}
		frames := s.Info().Frames
		for i := range frames {
			if got := letters(next(t, s)); got != disposalWant[i] {
				t.Fatalf("cut at %d: frame %d is %q, want %q", n, i, got, disposalWant[i])
			}
		}
		_, err = s.Grab(context.Background())
		wantError(t, err, ErrCorrupt, "cut.gif")
		mustClose(t, s)
	}
}

func TestGIFDamage(t *testing.T) {
	data := disposalGIF(t)
	openError(t, writeFile(t, "text.gif", []byte("this is no GIF at all")), ErrCorrupt, "text.gif")
	l, err := scanGIF(data)
	if err != nil || l.damage != nil || len(l.frames) != 6 {
		t.Fatalf("scan: %v %+v", err, l)
	}
	bad := bytes.Clone(data)
	bad[l.frames[2].start] = 0x77
	s, err := newGIF(bad, "bad.gif", Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := drain(s)
	wantError(t, err, ErrCorrupt, "0x77", "after 2 frames")
	if n != 2 {
		t.Errorf("%d frames before the damage, want 2", n)
	}
}

func TestGIFWithoutSizeIsRefused(t *testing.T) {
	data := disposalGIF(t)
	copy(data[6:10], []byte{0, 0, 0, 0})
	openError(t, writeFile(t, "zero.gif", data), ErrCorrupt, "zero.gif", "0×0")
	copy(data[6:10], []byte{255, 255, 255, 255})
	openError(t, writeFile(t, "huge.gif", data), ErrCorrupt, "65535×65535")
}

func TestGIFRate(t *testing.T) {
	for _, c := range []struct {
		delays []int
		want   float64
	}{{[]int{4, 4}, 25}, {[]int{0, 1}, 10}, {[]int{2, 6}, 25}, {[]int{100}, 1}} {
		var frames []gifFrame
		for _, d := range c.delays {
			frames = append(frames, gifFrame{delay: d})
		}
		if got := gifRate(frames); got != c.want {
			t.Errorf("delays %v: %v frames/s, want %v", c.delays, got, c.want)
		}
	}
}

// TestGIFAgainstWholeFileDecoder compares a real clip with image/gif decoding the file as a whole.
func TestGIFAgainstWholeFileDecoder(t *testing.T) {
	path := filepath.Join(testutil.Assets(t), "media", "classroom.gif")
	s := mustOpen(t, path, Options{})
	g := s.(*gifSource)
	whole, err := gif.DecodeAll(bytes.NewReader(g.data))
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Image) != s.Info().Frames {
		t.Fatalf("%d frames, the whole file has %d", s.Info().Frames, len(whole.Image))
	}
	for _, i := range []int{0, 1, len(whole.Image) / 2, len(whole.Image) - 1} {
		img, err := g.decode(i)
		if err != nil {
			t.Fatal(err)
		}
		if img.Rect != whole.Image[i].Rect || !bytes.Equal(img.Pix, whole.Image[i].Pix) {
			t.Errorf("frame %d differs", i)
		}
		if g.layout.frames[i].delay != whole.Delay[i] || g.layout.frames[i].disposal != whole.Disposal[i] {
			t.Errorf("frame %d: delay and disposal %+v, want %d and %d", i, g.layout.frames[i], whole.Delay[i], whole.Disposal[i])
		}
	}
	if n, err := drain(s); n != len(whole.Image) || !errors.Is(err, io.EOF) {
		t.Errorf("drained %d frames, %v", n, err)
	}
}

func FuzzGIF(f *testing.F) {
	data := disposalGIF(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("GIF89a\x02\x00\x01\x00\x00\x00\x00;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := scanGIF(data); err == nil && l.width*l.height > 1<<16 {
			t.Skip("big screens only cost time")
		}
		s, err := newGIF(data, "fuzz.gif", Options{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		if fps := s.Info().FPS; fps < 0.001 || fps > 50 {
			t.Errorf("rate %v", fps)
		}
		dst := make([]byte, s.Info().FrameBytes())
		for {
			if _, err := s.Grab(context.Background()); err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.EOF) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err := s.Retrieve(dst); err != nil {
				t.Fatal(err)
			}
		}
	})
}
