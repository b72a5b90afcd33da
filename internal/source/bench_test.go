package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// benchSource grabs and retrieves b.N frames, opening the source again at its end.
func benchSource(b *testing.B, spec string) {
	b.Helper()
	s, err := NewLoop(context.Background(), func(ctx context.Context) (Source, error) { return Open(ctx, spec, Options{}) })
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, s.Info().FrameBytes())
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Grab(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := s.Retrieve(dst); err != nil {
			b.Fatal(err)
		}
	}
	mustClose(b, s)
}

func BenchmarkSynthetic(b *testing.B) {
	for _, size := range []string{"640x480", "1920x1080"} {
		for _, format := range []string{BGR, NV12, YUYV} {
			b.Run(size+"/"+format, func(b *testing.B) { benchSource(b, "synthetic:faces=2,size="+size+",format="+format) })
		}
	}
}

func BenchmarkGIF(b *testing.B)  { benchSource(b, clipGIF(b)) }
func BenchmarkPNG(b *testing.B)  { benchSource(b, clipImages(b, ".png")) }
func BenchmarkDemo(b *testing.B) { benchSource(b, Demo) }
func BenchmarkJPEG(b *testing.B) { benchSource(b, clipImages(b, ".jpg")) }

func BenchmarkY4M(b *testing.B) {
	for chroma, payload := range map[string]int{"420": 640 * 480 * 3 / 2, "422": 640 * 480 * 2, "444": 640 * 480 * 3} {
		path := writeFile(b, "clip.y4m", y4mFile("W640 H480 F30:1 C"+chroma, payload, 10))
		b.Run(chroma, func(b *testing.B) { benchSource(b, path) })
	}
}

// clip returns frames of two moving faces at 640×480.
func clip(b testing.TB, frames int) (out []*image.RGBA) {
	s := mustOpen(b, fmt.Sprintf("synthetic:faces=2,frames=%d", frames), Options{})
	for range frames {
		bgr := next(b, s)
		img := image.NewRGBA(image.Rect(0, 0, 640, 480))
		for i := range 640 * 480 {
			copy(img.Pix[4*i:], []byte{bgr[3*i+2], bgr[3*i+1], bgr[3*i], 255})
		}
		out = append(out, img)
	}
	return out
}

func clipImages(b testing.TB, ext string) string {
	dir := b.TempDir()
	for i, img := range clip(b, 5) {
		path := filepath.Join(dir, fmt.Sprint(i)+ext)
		if ext == ".png" {
			writePNG(b, path, img)
			continue
		}
		var buf bytes.Buffer
		if err := jpeg.Encode(&buf, img, nil); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

func clipGIF(b testing.TB) string {
	g := &gif.GIF{}
	palette := make(color.Palette, 0, 256)
	for i := range 256 {
		palette = append(palette, color.RGBA{uint8(i & 0xE0), uint8(i << 3 & 0xE0), uint8(i << 6), 255})
	}
	for _, img := range clip(b, 5) {
		p := image.NewPaletted(img.Rect, palette)
		for i := range p.Pix {
			p.Pix[i] = img.Pix[4*i]&0xE0 | img.Pix[4*i+1]>>3&0x1C | img.Pix[4*i+2]>>6
		}
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 4)
	}
	return writeFile(b, "clip.gif", encodeGIF(b, g))
}

// BenchmarkGrabOnly is the cost of a frame that is dropped.
func BenchmarkGrabOnly(b *testing.B) {
	path := writeFile(b, "clip.y4m", y4mFile("W640 H480 F30:1", 640*480*3/2, 10))
	for name, spec := range map[string]string{"Synthetic": "synthetic:", "Y4M": path, "GIF": clipGIF(b), "JPEG": clipImages(b, ".jpg")} {
		b.Run(name, func(b *testing.B) {
			s, err := NewLoop(context.Background(), func(ctx context.Context) (Source, error) { return Open(ctx, spec, Options{}) })
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Grab(context.Background()); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			mustClose(b, s)
		})
	}
}
