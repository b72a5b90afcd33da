//go:build gocv

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"gocv.io/x/gocv"

	"facetrack/internal/clock"
)

// videoFile decodes a compressed video. Decoding happens in Grab: each frame needs the ones before it.
type videoFile struct {
	info    Info
	c       *capture
	log     *slog.Logger
	pending bool  // the first frame is read already
	at      int64 // frames grabbed
}

func openVideoFile(path string, opts Options) (Source, error) {
	if err := quiet(); err != nil {
		return nil, err
	}
	c := openCapture(path, gocv.VideoCaptureFFmpeg)
	if c == nil {
		return nil, fmt.Errorf("%w: %s is not a video that FFmpeg can open; try `ffprobe` on it", ErrCorrupt, path)
	}
	s := &videoFile{c: c, log: opts.Logger, pending: true}
	if err := s.first(path, opts); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return s, nil
}

func (s *videoFile) first(path string, opts Options) error {
	if err := checkSize(path, s.c.int(gocv.VideoCaptureFrameWidth), s.c.int(gocv.VideoCaptureFrameHeight)); err != nil {
		return err
	}
	if !s.c.read() {
		return fmt.Errorf("%w: %s: its first frame cannot be decoded", ErrCorrupt, path)
	}
	raw, err := s.c.raw()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w, h, format, err := raw.geometry(0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	frames := s.c.int(gocv.VideoCaptureFrameCount)
	if frames <= 0 {
		frames = -1
	}
	s.info = Info{Width: w, Height: h, Format: format, FPS: opts.rate(s.c.cap.Get(gocv.VideoCaptureFPS)),
		Frames: frames, Seekable: true, Name: path}
	return nil
}

func (s *videoFile) Info() Info { return s.info }

func (s *videoFile) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.c == nil {
		return 0, ErrClosed
	}
	if !s.pending && !s.c.read() {
		return 0, s.end()
	}
	s.pending = false
	s.at++
	return clock.Now(), nil
}

// end is io.EOF. OpenCV does not tell damage from the end, so a file that stops early is at least logged.
func (s *videoFile) end() error {
	if missing := int64(s.info.Frames) - s.at; missing > max(5, s.at/10) {
		s.log.Warn("video ends early: it may be damaged or cut off", "file", s.info.Name, "frames", s.at, "announced", s.info.Frames)
	}
	return io.EOF
}

func (s *videoFile) Retrieve(dst []byte) error {
	if s.c == nil || s.at == 0 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	raw, err := s.c.raw()
	if err != nil {
		return err
	}
	if len(raw.pix) != len(dst) {
		return fmt.Errorf("%w: %s: frame %d is %d×%d, the first was %d×%d", ErrCorrupt, s.info.Name, s.at-1,
			raw.columns, raw.rows, s.info.Width, s.info.Height)
	}
	copy(dst, raw.pix)
	return nil
}

// Skip decodes the frames in between without converting them to BGR.
func (s *videoFile) Skip(n int64) error {
	if s.c == nil {
		return ErrClosed
	}
	if n > 0 && s.pending {
		s.pending = false
		s.at++
		n--
	}
	for ; n > 0; n-- {
		before := s.c.int(gocv.VideoCapturePosFrames)
		s.c.cap.Grab(1)
		if s.c.int(gocv.VideoCapturePosFrames) == before {
			return s.end()
		}
		s.at++
	}
	return nil
}

func (s *videoFile) Close() error {
	if s.c == nil {
		return nil
	}
	err := s.c.close()
	s.c = nil
	return err
}
