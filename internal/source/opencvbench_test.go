//go:build gocv

package source

import (
	"path/filepath"
	"testing"

	"facetrack/internal/testutil"
)

func BenchmarkVideo(b *testing.B) {
	b.Run("MKV", func(b *testing.B) { benchSource(b, filepath.Join(testutil.Assets(b), "media", "walk.mkv")) })
	b.Run("AVI", func(b *testing.B) { benchSource(b, writeAVI(b, "FFV1", "synthetic:faces=2,frames=30")) })
}

func BenchmarkVideoSkip(b *testing.B) {
	path := filepath.Join(testutil.Assets(b), "media", "walk.mkv")
	for b.Loop() {
		s := mustOpen(b, path, Options{})
		if err := s.Skip(80); err != nil {
			b.Fatal(err)
		}
		mustClose(b, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(80*b.N), "µs/frame")
}

// BenchmarkCameraJPEG is what Retrieve costs for a camera that sends MJPG.
func BenchmarkCameraJPEG(b *testing.B) {
	picture := jpegOf(b, 640, 480)
	dst := make([]byte, 3*640*480)
	for b.Loop() {
		if err := decodeJPEG(dst, picture); err != nil {
			b.Fatal(err)
		}
	}
}
