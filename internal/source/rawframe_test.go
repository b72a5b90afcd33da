package source

import (
	"bytes"
	"image/color"
	"image/jpeg"
	"strings"
	"testing"
)

func containsText(err error, s string) bool { return err != nil && strings.Contains(err.Error(), s) }

func jpegOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, flat(w, h, color.RGBA{220, 40, 40, 255}), &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGeometryOfCameraBuffers(t *testing.T) {
	picture := jpegOf(t, 32, 16)
	row := func(p []byte) rawFrame { return rawFrame{pix: p, rows: 1, columns: len(p), channels: 1} }
	for name, c := range map[string]struct {
		raw    rawFrame
		w, h   int
		format string
		err    error
	}{
		"MJPG":      {row(picture), 32, 16, BGR, nil},
		"padded":    {row(append(bytes.Clone(picture), make([]byte, 500)...)), 32, 16, BGR, nil},
		"BGR":       {rawFrame{rows: 480, columns: 640, channels: 3}, 640, 480, BGR, nil},
		"YUYV":      {rawFrame{rows: 480, columns: 640, channels: 2}, 640, 480, YUYV, nil},
		"NV12":      {rawFrame{rows: 720, columns: 640, channels: 1}, 640, 480, NV12, nil},
		"grey":      {rawFrame{rows: 480, columns: 640, channels: 1}, 0, 0, "", ErrUnsupported},
		"cut MJPG":  {row(picture[:len(picture)/2]), 0, 0, "", ErrCorrupt},
		"torn MJPG": {row(append([]byte{0xFF, 0xD8}, 1, 2, 3, 0xFF, 0xD9)), 0, 0, "", ErrCorrupt},
	} {
		w, h, format, err := c.raw.geometry(480)
		if c.err != nil {
			wantError(t, err, c.err)
			continue
		}
		if err != nil || w != c.w || h != c.h || format != c.format {
			t.Errorf("%s: %d×%d %s, %v; want %d×%d %s", name, w, h, format, err, c.w, c.h, c.format)
		}
	}
}

func TestCaptureInstant(t *testing.T) {
	const now = int64(100e9)
	for stamp, want := range map[float64]int64{
		99_980:    99_980e6, // the driver's stamp, 20 ms ago
		99_980.25: 99_980_250_000,
		0:         now, // none
		50_000:    now, // another clock
		1.7e12:    now, // wall clock
		100_001:   now, // the future
	} {
		if got := captureInstant(stamp, now); got != want {
			t.Errorf("stamp %v ms: %d, want %d", stamp, got, want)
		}
	}
}

func TestQuietEnviron(t *testing.T) {
	for _, kv := range QuietEnviron() {
		if k, v, ok := strings.Cut(kv, "="); !ok || !strings.HasPrefix(k, "OPENCV_") || v == "" {
			t.Errorf("%q is no assignment", kv)
		}
	}
}
