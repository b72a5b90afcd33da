package source

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// flat is a picture of one colour.
func flat(w, h int, c color.Color) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, c)
	}
	return img
}

func writePNG(t testing.TB, path string, img image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pictures(t testing.TB) string {
	dir := t.TempDir()
	for i, name := range []string{"f1.png", "f2.png", "f10.png"} {
		writePNG(t, filepath.Join(dir, name), flat(6, 4, color.RGBA{uint8(10 * (i + 1)), 2, 3, 255}))
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolderPlaysInNaturalOrder(t *testing.T) {
	dir := pictures(t)
	for _, spec := range []string{dir, filepath.Join(dir, "f*.png"), filepath.Join(dir, "f[0-9]*")} {
		s := mustOpen(t, spec, Options{FPS: 12.5})
		want := Info{Width: 6, Height: 4, Format: BGR, FPS: 12.5, Frames: 3, Seekable: true, Name: spec}
		if s.Info() != want {
			t.Errorf("%s: %+v, want %+v", spec, s.Info(), want)
		}
		for i := range 3 {
			if got := next(t, s); !bytes.Equal(got[:3], []byte{3, 2, byte(10 * (i + 1))}) {
				t.Errorf("%s: frame %d starts %v", spec, i, got[:3])
			}
		}
	}
	checkContract(t, 3, func() Source { return mustOpen(t, dir, Options{}) })
}

func TestSingleImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.PNG")
	writePNG(t, path, flat(3, 2, color.NRGBA{200, 100, 50, 255}))
	checkContract(t, 1, func() Source { return mustOpen(t, path, Options{}) })
	s := mustOpen(t, path, Options{})
	if got, want := next(t, s), bytes.Repeat([]byte{50, 100, 200}, 6); !bytes.Equal(got, want) {
		t.Errorf("pixels %v, want %v", got, want)
	}
}

func TestTransparentPixelsLieOverBlack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half.png")
	writePNG(t, path, flat(1, 1, color.NRGBA{200, 100, 50, 128}))
	if got := next(t, mustOpen(t, path, Options{})); !bytes.Equal(got, []byte{25, 50, 100}) {
		t.Errorf("half transparent (200,100,50) became BGR %v, want 25 50 100", got)
	}
}

func TestJPEG(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, flat(16, 16, color.RGBA{220, 40, 40, 255}), &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	got := next(t, mustOpen(t, writeFile(t, "a.jpg", b.Bytes()), Options{}))
	for i, want := range []byte{40, 40, 220} {
		if d := int(got[i]) - int(want); d < -3 || d > 3 {
			t.Errorf("channel %d is %d, want %d", i, got[i], want)
		}
	}
	openError(t, writeFile(t, "cut.jpg", b.Bytes()[:20]), ErrCorrupt, "cut.jpg")
}

func TestOddPictureIsNamed(t *testing.T) {
	dir := pictures(t)
	writePNG(t, filepath.Join(dir, "f3.png"), flat(8, 4, color.White))
	openError(t, dir, ErrUnsupported, "f3.png is 8×4", "f1.png is 6×4")
}

func TestDamagedPictureIsNamedWhenRetrieved(t *testing.T) {
	dir := pictures(t)
	path := filepath.Join(dir, "f2.png")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir, Options{})
	if err := s.Skip(1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Grab(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Retrieve(make([]byte, s.Info().FrameBytes())), ErrCorrupt, "f2.png")
}

func TestPictureThatChangesSizeIsRefused(t *testing.T) {
	dir := pictures(t)
	s := mustOpen(t, dir, Options{})
	writePNG(t, filepath.Join(dir, "f1.png"), flat(2, 2, color.White))
	if _, err := s.Grab(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Retrieve(make([]byte, s.Info().FrameBytes())), ErrCorrupt, "f1.png is now 2×2")
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"a", "a1", "a2", "a02", "a10", "a10b2", "a10b11", "a99999999999999999999999", "b1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	sortNatural(got)
	want[2], want[3] = "a02", "a2" // equal values: plain order decides
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
