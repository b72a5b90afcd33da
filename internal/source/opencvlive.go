//go:build gocv

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gocv.io/x/gocv"

	"facetrack/internal/clock"
)

// liveVideo is a camera or a network stream. OpenCV's calls run on a worker, because they can hang.
type liveVideo struct {
	info   Info
	c      *capture
	w      *worker
	limit  time.Duration
	stamps bool // the driver stamps its buffers with CLOCK_MONOTONIC
	raw    rawFrame
	bad    error // why the grabbed picture cannot be retrieved
}

// openCamera opens a V4L2 device. Buffers are taken as the camera sends them: MJPG is decoded only by Retrieve,
// YUYV and NV12 are never converted.
func openCamera(ctx context.Context, path string, opts Options) (Source, error) {
	return openLive(ctx, path, opts, true, func() *capture {
		c := openCapture(path, gocv.VideoCaptureV4L2)
		if c != nil {
			configure(c, opts)
		}
		return c
	})
}

// openStream opens a network stream. RTSP goes over TCP unless OPENCV_FFMPEG_CAPTURE_OPTIONS says otherwise.
func openStream(ctx context.Context, address, name string, opts Options) (Source, error) {
	return openLive(ctx, name, opts, false, func() *capture { return openCapture(address, gocv.VideoCaptureFFmpeg) })
}

func configure(c *capture, opts Options) {
	if len(opts.Pixel) == 4 {
		c.cap.Set(gocv.VideoCaptureFOURCC, c.cap.ToCodec(opts.Pixel))
	}
	for _, p := range []struct {
		property gocv.VideoCaptureProperties
		value    float64
	}{
		{gocv.VideoCaptureFrameWidth, float64(opts.Width)},
		{gocv.VideoCaptureFrameHeight, float64(opts.Height)},
		{gocv.VideoCaptureFPS, opts.FPS},
	} {
		if p.value > 0 {
			c.cap.Set(p.property, p.value)
		}
	}
	switch c.cap.CodecString() {
	case "MJPG", "JPEG", "YUYV", NV12:
		c.cap.Set(gocv.VideoCaptureConvertRGB, 0)
	}
}

func openLive(ctx context.Context, name string, opts Options, device bool, open func() *capture) (Source, error) {
	if err := quiet(); err != nil {
		return nil, err
	}
	var c *capture // belongs to the worker until it answers
	s := &liveVideo{limit: opts.Timeout, stamps: device}
	s.w = newWorker(func() {
		if c != nil {
			_ = c.close() // nobody is left to hear of it
		}
	})
	if err := s.w.do(ctx, s.limit, name, func() { c = open() }); err != nil {
		return nil, err
	}
	if c == nil {
		s.w.stop()
		return nil, fmt.Errorf("%w: %s cannot be opened: it is in use, sends no video, or asks for a password", ErrLost, name)
	}
	s.c = c
	s.info = Info{FPS: opts.rate(c.cap.Get(gocv.VideoCaptureFPS)), Frames: -1, Live: true, Name: name}
	if err := s.probe(ctx); err != nil {
		s.w.stop()
		return nil, err
	}
	return s, nil
}

// probe reads frames until one tells size and format: the first pictures of a camera may be damaged.
func (s *liveVideo) probe(ctx context.Context) error {
	for range 10 {
		_, err := s.Grab(ctx)
		if errors.Is(err, ErrGeometry) { // from none to the real one
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: every picture is damaged; try another cable or port: %w", ErrLost, s.bad)
}

func (s *liveVideo) Info() Info { return s.info }

// Grab waits for the next frame. A damaged picture counts as a frame, which then cannot be retrieved.
func (s *liveVideo) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.raw, s.bad = rawFrame{}, nil
	var ok bool
	var now int64
	var stamp float64
	err := s.w.do(ctx, s.limit, s.info.Name, func() {
		ok, now = s.c.read(), clock.Now()
		if ok && s.stamps {
			stamp = s.c.cap.Get(gocv.VideoCapturePosMsec)
		}
	})
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("%w: %s gives no more frames", ErrLost, s.info.Name)
	}
	if err := s.accept(); err != nil {
		return 0, err
	}
	return captureInstant(stamp, now), nil
}

// accept checks the frame that was read against Info.
func (s *liveVideo) accept() error {
	raw, err := s.c.raw()
	if err != nil {
		return err
	}
	was, now := s.info, s.info
	now.Width, now.Height, now.Format, err = raw.geometry(s.c.int(gocv.VideoCaptureFrameHeight))
	if errors.Is(err, ErrCorrupt) {
		s.bad = fmt.Errorf("%s: %w", was.Name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", was.Name, err)
	}
	s.raw, s.info = raw, now
	if !was.SameGeometry(now) {
		return fmt.Errorf("%w: %s was %s and is now %s", ErrGeometry, was.Name, was.geometry(), now.geometry())
	}
	return nil
}

// Retrieve decodes or copies the grabbed frame. ErrCorrupt concerns that frame only.
func (s *liveVideo) Retrieve(dst []byte) error {
	if s.bad != nil {
		return s.bad
	}
	if s.raw.pix == nil || s.w.gone {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	if s.raw.isJPEG() {
		return decodeJPEG(dst, s.raw.pix)
	}
	copy(dst, s.raw.pix)
	return nil
}

// Skip does nothing: a live source has no position.
func (s *liveVideo) Skip(int64) error { return nil }

// Close lets go of the camera as soon as a call that still hangs returns.
func (s *liveVideo) Close() error {
	s.w.stop()
	return nil
}
