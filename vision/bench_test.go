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

func BenchmarkDecode(b *testing.B) {
	// Outputs with a handful of faces among 2,100 cells.
	s := fakeYuNet(320, func(_ []float32, out map[string][]float32) {
		for _, name := range []string{"cls_8", "obj_8", "cls_16", "obj_16"} {
			for i := 7; i < len(out[name]); i += 97 {
				out[name][i] = 0.9
			}
		}
	})
	d, err := NewDetector("yunet", s, DetectorOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Detect(randomImage(BGR, 320, 320, 1)); err != nil {
		b.Fatal(err)
	}
	b.Run("finite", func(b *testing.B) {
		for b.Loop() {
			for _, o := range d.out {
				if !finite(o) {
					b.Fatal("not finite")
				}
			}
		}
	})
	b.Run("yunet", func(b *testing.B) {
		for b.Loop() {
			d.faces(0)
		}
	})
}

func BenchmarkAppearance(b *testing.B) {
	m := randomImage(BGR, 640, 480, 1)
	a, err := newAppearance()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.describe(m, ROI{CX: 320, CY: 240, Size: 220}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFullFace includes the networks on the fastest backend of this binary.
func BenchmarkFullFace(b *testing.B) {
	m := readPicture(b, "astronaut.png")
	b.Run("detect_yunet320", func(b *testing.B) {
		d := newTestDetector(b, "yunet_n_320_320.onnx", DetectorOptions{})
		for b.Loop() {
			if faces, err := d.Detect(m); err != nil || len(faces) != 1 {
				b.Fatal(faces, err)
			}
		}
	})
	b.Run("landmarks", func(b *testing.B) {
		l := newTestLandmarker(b)
		rois := []ROI{{CX: 225, CY: 124, Size: 169, Rotation: 0.06}}
		for b.Loop() {
			if got, err := l.Run(m, rois); err != nil || got[0].Presence < 0.9 {
				b.Fatal(got, err)
			}
		}
	})
}
