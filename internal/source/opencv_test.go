//go:build gocv

package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gocv.io/x/gocv"

	"facetrack/internal/demo"
	"facetrack/internal/testutil"
)

// writeAVI writes frames of a synthetic clip into an AVI file; MJPG is read without OpenCV, FFV1 by it.
func writeAVI(t testing.TB, codec, spec string) string {
	t.Helper()
	s := mustOpen(t, spec, Options{})
	info := s.Info()
	path := filepath.Join(t.TempDir(), "clip.avi")
	vw, err := gocv.VideoWriterFile(path, codec, info.FPS, info.Width, info.Height, true)
	if err != nil {
		t.Fatal(err)
	}
	for range info.Frames {
		m, err := gocv.NewMatFromBytes(info.Height, info.Width, gocv.MatTypeCV8UC3, next(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(vw.Write(m), m.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := vw.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const aviSpec = "synthetic:faces=1,size=320x240,fps=25,frames=12,diameter=60"

func TestVideoFile(t *testing.T) {
	path := writeAVI(t, "FFV1", aviSpec)
	s := mustOpen(t, path, Options{})
	want := Info{Width: 320, Height: 240, Format: BGR, FPS: 25, Frames: 12, Seekable: true, Name: path}
	if s.Info() != want {
		t.Errorf("info %+v, want %+v", s.Info(), want)
	}
	params, err := ParseSynthetic(aviSpec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(12) {
		frame := next(t, s)
		if index, err := SyntheticIndex(frame, BGR, 320); err != nil || int64(index) != i {
			t.Errorf("frame %d shows index %d, %v", i, index, err)
		}
		f := SyntheticTruth(params, i)[0]
		if x, y, area := redBlob(frame, 320, f.CX, f.CY, f.Size/2+3); abs(x-f.CX) > 1 || abs(y-f.CY) > 2 || area < 2000 {
			t.Errorf("frame %d: face at %.1f,%.1f area %.0f, truth %.1f,%.1f", i, x, y, area, f.CX, f.CY)
		}
	}
	checkContract(t, 12, func() Source { return mustOpen(t, path, Options{}) })
}

// TestAVIAsOpenCVReadsIt compares our reader of Motion-JPEG with FFmpeg's, which interpolates colours where ours repeats them.
func TestAVIAsOpenCVReadsIt(t *testing.T) {
	for name, path := range map[string]string{"written by FFmpeg": writeAVI(t, "MJPG", aviSpec), "the demo": writeFile(t, "demo.avi", demo.Clip)} {
		ours := mustOpen(t, path, Options{})
		theirs, err := openVideoFile(path, Options{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { mustClose(t, theirs) })
		if a, b := ours.Info(), theirs.Info(); a != b {
			t.Errorf("%s: we say %+v, they %+v", name, a, b)
		}
		for i := range ours.Info().Frames {
			a, b := next(t, ours), next(t, theirs)
			total := 0.0
			for j := range a {
				total += abs(float64(a[j]) - float64(b[j]))
			}
			if mean := total / float64(len(a)); mean > 1 {
				t.Errorf("%s, frame %d: %.2f levels apart on average", name, i, mean)
			}
		}
		if n, err := drain(theirs); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: they have %d frames more, %v", name, n, err)
		}
	}
}

func abs(v float64) float64 { return max(v, -v) }

// TestRealVideo counts the frames of H.264 clips and compares the colours of the first with known means.
func TestRealVideo(t *testing.T) {
	for name, want := range map[string]struct {
		frames int
		mean   [3]float64 // B, G, R of frame 0
	}{
		"yes.mkv":  {65, [3]float64{136.8, 135.1, 117.9}},
		"no.mkv":   {66, [3]float64{138.6, 137.1, 119.8}},
		"walk.mkv": {89, [3]float64{117.7, 134.7, 132.3}},
	} {
		path := filepath.Join(testutil.Assets(t), "media", name)
		s := mustOpen(t, path, Options{})
		info := s.Info()
		if info.Width != 640 || info.Height != 480 || info.Format != BGR || info.FPS != 30 || info.Frames < want.frames || info.Frames > want.frames+1 {
			t.Errorf("%s: %+v", name, info)
		}
		for i, mean := range channelMeans(next(t, s)) {
			if abs(mean-want.mean[i]) > 1 {
				t.Errorf("%s: channel %d has mean %.1f, want %.1f", name, i, mean, want.mean[i])
			}
		}
		if n, err := drain(s); n+1 != want.frames || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d frames, %v, want %d", name, n+1, err, want.frames)
		}
	}
}

func channelMeans(bgr []byte) (mean [3]float64) {
	for i, v := range bgr {
		mean[i%3] += float64(v)
	}
	for i := range mean {
		mean[i] /= float64(len(bgr) / 3)
	}
	return mean
}

// TestRealVideoDamaged overwrites the middle of a clip: it plays on, or ends, and nothing crashes.
func TestRealVideoDamaged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "media", "walk.mkv"))
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 3; i < len(data)*2/3; i++ {
		data[i] ^= byte(i * 31)
	}
	s := mustOpen(t, writeFile(t, "damaged.mkv", data), Options{Logger: slog.New(slog.DiscardHandler)})
	n, err := drain(s)
	if n == 0 || n > 89 || !errors.Is(err, io.EOF) && !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d frames, %v", n, err)
	}
}

func TestCutVideoEndsWithAWarning(t *testing.T) {
	data, err := os.ReadFile(writeAVI(t, "FFV1", "synthetic:size=160x120,frames=60"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := mustOpen(t, writeFile(t, "cut.avi", data[:len(data)/2]), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	n, err := drain(s)
	if !errors.Is(err, io.EOF) || n < 10 || n > 40 {
		t.Errorf("%d of 60 frames, %v", n, err)
	}
	if !bytes.Contains(log.Bytes(), []byte("ends early")) || !bytes.Contains(log.Bytes(), []byte("cut.avi")) {
		t.Errorf("no warning: %s", log.String())
	}
}

func TestNoVideo(t *testing.T) {
	openError(t, writeFile(t, "text.mkv", []byte("this is not a video")), ErrCorrupt, "text.mkv", "ffprobe")
	data, err := os.ReadFile(writeAVI(t, "FFV1", aviSpec))
	if err != nil {
		t.Fatal(err)
	}
	openError(t, writeFile(t, "head.avi", data[:600]), ErrCorrupt, "head.avi")
	start := bytes.Index(data, []byte("movi"))
	for i := start + 4; i < len(data); i++ {
		data[i] = 0x55
	}
	openError(t, writeFile(t, "noise.avi", data), ErrCorrupt, "noise.avi")
}

// TestDamagedVideoIsQuiet runs the test above in a process of its own and looks at what it writes.
func TestDamagedVideoIsQuiet(t *testing.T) {
	for name, env := range map[string][]string{"by itself": nil, "QuietEnviron": QuietEnviron()} {
		cmd := exec.Command(os.Args[0], "-test.run=^(TestNoVideo|TestRealVideoDamaged|TestCutVideoEndsWithAWarning)$") // #nosec G204 -- this test binary
		cmd.Env = append(os.Environ(), env...)
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		limit := 0
		if env == nil {
			limit = 5
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines > limit {
			t.Errorf("%s: %d lines on stderr:\n%s", name, lines, out.String())
		}
	}
}

func TestRTSPWithoutServer(t *testing.T) {
	openError(t, "rtsp://me:secret@"+closedPort(t)+"/live", ErrLost, "connection refused", "127.0.0.1")
}

// TestRTSPServerThatNeverAnswers accepts connections and stays silent.
func TestRTSPServerThatNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(conns)
				return
			}
			conns <- c
		}
	}()
	start := time.Now()
	_, err = Open(t.Context(), "rtsp://"+l.Addr().String()+"/live", Options{Timeout: time.Second})
	wantError(t, err, ErrLost, l.Addr().String())
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("gave up after %v, the decoder's own patience", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err = Open(ctx, "rtsp://"+l.Addr().String()+"/live", Options{Timeout: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while opening: %v", err)
	}
	_ = l.Close()
	for c := range conns { // the calls that hang come back
		_ = c.Close()
	}
}

func TestCameraThatIsNone(t *testing.T) {
	_, err := openCamera(t.Context(), "/dev/null", Options{}.withDefaults())
	wantError(t, err, ErrLost, "/dev/null")
}

func TestDecodeJPEG(t *testing.T) {
	picture := jpegOf(t, 32, 16)
	dst := make([]byte, 3*32*16)
	if err := decodeJPEG(dst, picture); err != nil {
		t.Fatal(err)
	}
	near(t, "JPEG", dst[:3], []byte{40, 40, 220}, 4)
	wantError(t, decodeJPEG(dst[3:], picture), ErrCorrupt, "32×16")
	wantError(t, decodeJPEG(dst, []byte{0xFF, 0xD8, 0xFF, 0xD9}), ErrCorrupt)
	wantError(t, decodeJPEG(dst, nil), ErrCorrupt)
}
