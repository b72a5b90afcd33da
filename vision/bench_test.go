package vision

import (
	"fmt"
	"testing"
)

func BenchmarkLetterbox(b *testing.B) {
	for _, c := range []struct{ w, h, size int }{{640, 480, 320}, {640, 480, 128}, {1280, 720, 320}, {1920, 1080, 320}, {1920, 1080, 640}} {
		for _, f := range formats {
			b.Run(fmt.Sprintf("%s_%dx%d_to_%d", f, c.w, c.h, c.size), func(b *testing.B) {
				m := randomImage(f, c.w, c.h, 1)
				l, err := NewLetterboxer(c.size, BGR255)
				if err != nil {
					b.Fatal(err)
				}
				dst := make([]float32, c.size*c.size*3)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := l.Fill(dst, m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCrop(b *testing.B) {
	for _, size := range []float64{220, 700} {
		for _, f := range formats {
			b.Run(fmt.Sprintf("%s_%.0fpx_to_192", f, size), func(b *testing.B) {
				m := randomImage(f, 1280, 720, 1)
				c, err := NewCropper(192, RGBUnit)
				if err != nil {
					b.Fatal(err)
				}
				dst := make([]float32, 192*192*3)
				r := ROI{CX: 640, CY: 360, Size: size, Rotation: 0.2}
				b.ReportAllocs()
				for b.Loop() {
					if err := c.Fill(dst, m, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
