//go:build gocv

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"facetrack/internal/clock"
)

// webcam serves an endless MJPEG stream over HTTP, as simple network cameras do, whose frames carry their index.
// Each connection gets frames at full speed until limit of them were sent in all.
type webcam struct {
	frames [][]byte
	limit  atomic.Int64
	sent   atomic.Int64
}

// webcamCycle is after how many frames the stream's pictures repeat.
const webcamCycle = 30

var webcamFrames = sync.OnceValue(func() (frames [][]byte) {
	s := NewSynthetic(SyntheticParams{Faces: 1, Width: 320, Height: 240, FPS: 30, Frames: -1, Format: BGR, Diameter: 48})
	bgr := make([]byte, s.Info().FrameBytes())
	img := image.NewRGBA(image.Rect(0, 0, 320, 240))
	for range webcamCycle {
		if err := errors.Join(s.Skip(1), s.Retrieve(bgr)); err != nil {
			panic(err)
		}
		for i := range 320 * 240 {
			copy(img.Pix[4*i:], []byte{bgr[3*i+2], bgr[3*i+1], bgr[3*i], 255})
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
			panic(err)
		}
		frames = append(frames, b.Bytes())
	}
	return frames
})

func newWebcam(t *testing.T, limit int64) (*webcam, string) {
	t.Helper()
	w := &webcam{frames: webcamFrames()}
	w.limit.Store(limit)
	server := httptest.NewServer(w)
	t.Cleanup(func() {
		w.limit.Store(0)
		server.CloseClientConnections()
		server.Close()
	})
	return w, strings.Replace(server.URL, "http://", "http://me:secret@", 1) + "/video"
}

func (w *webcam) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
	for i := w.sent.Load(); i < w.limit.Load() && r.Context().Err() == nil; i = w.sent.Add(1) {
		f := w.frames[i%webcamCycle]
		if _, err := fmt.Fprintf(out, "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n", len(f), f); err != nil {
			return
		}
	}
}

func TestNetworkStream(t *testing.T) {
	_, address := newWebcam(t, 1<<40)
	s := mustOpen(t, address, Options{Timeout: patience})
	info := s.Info()
	if info.Width != 320 || info.Height != 240 || info.Format != BGR || !info.Live || info.Seekable || info.Frames != -1 {
		t.Errorf("info %+v", info)
	}
	if strings.Contains(info.Name, "secret") {
		t.Errorf("name %q shows the password", info.Name)
	}
	if err := s.Skip(10); err != nil {
		t.Error(err)
	}
	before, last := clock.Now(), uint32(0)
	for i := range 20 {
		at := grab(t, s)
		if now := clock.Now(); at < before || at > now {
			t.Errorf("captured at %d, outside %d to %d", at, before, now)
		}
		dst := make([]byte, info.FrameBytes())
		if err := s.Retrieve(dst); err != nil {
			t.Fatal(err)
		}
		index, err := SyntheticIndex(dst, BGR, 320)
		if err != nil || i > 0 && index != (last+1)%webcamCycle {
			t.Errorf("index %d after %d, %v", index, last, err)
		}
		last = index
	}
	wantError(t, s.Retrieve(make([]byte, 5)), ErrBuffer)
}

// TestNetworkStreamComesBack lets the camera stop after some frames and start again.
func TestNetworkStreamComesBack(t *testing.T) {
	cam, address := newWebcam(t, 60)
	states := map[State]int{}
	r, err := NewReopener(t.Context(), ReopenOptions{
		Open:   func(ctx context.Context) (Source, error) { return Open(ctx, address, Options{Timeout: patience}) },
		Logger: slog.New(slog.DiscardHandler),
		Jitter: func() float64 { return 0 },
		Notify: func(e Event) {
			states[e.State]++
			if e.State == Lost && !errors.Is(e.Err, ErrLost) {
				t.Errorf("lost because of %v", e.Err)
			}
			if e.State == Retrying {
				cam.limit.Store(1 << 40)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, r) })
	for states[Back] == 0 {
		grab(t, r)
	}
	next(t, r)
	if states[Lost] != 1 || states[Back] != 1 || states[Retrying] < 1 {
		t.Errorf("states %v", states)
	}
}

func TestLiveSourceThatChangesItsSize(t *testing.T) {
	_, address := newWebcam(t, 1<<40)
	s := mustOpen(t, address, Options{Timeout: patience}).(*liveVideo)
	s.info.Width = 1280
	_, err := s.Grab(t.Context())
	wantError(t, err, ErrGeometry, "1280×240", "320×240")
	next(t, s)
	s.bad = fmt.Errorf("%w: torn", ErrCorrupt)
	wantError(t, s.Retrieve(make([]byte, s.Info().FrameBytes())), ErrCorrupt, "torn")
	next(t, s) // only that frame was bad
}

// TestCameraPicturesAreDecodedLate feeds a live source with a buffer as a camera in MJPG mode sends it.
func TestCameraPicturesAreDecodedLate(t *testing.T) {
	picture := jpegOf(t, 32, 16)
	s := &liveVideo{info: Info{Width: 32, Height: 16, Format: BGR}, w: newWorker(func() {}), limit: time.Second}
	t.Cleanup(func() { mustClose(t, s) })
	s.raw = rawFrame{pix: picture, rows: 1, columns: len(picture), channels: 1}
	dst := make([]byte, s.info.FrameBytes())
	if err := s.Retrieve(dst); err != nil {
		t.Fatal(err)
	}
	near(t, "MJPG", dst[:3], []byte{40, 40, 220}, 4)
	s.info.Format = YUYV
	s.raw = rawFrame{pix: bytes.Repeat([]byte{7}, 2*32*16), rows: 16, columns: 32, channels: 2}
	dst = dst[:2*32*16]
	if err := s.Retrieve(dst); err != nil || dst[len(dst)-1] != 7 {
		t.Errorf("YUYV: %v %v", dst[len(dst)-1], err)
	}
}
