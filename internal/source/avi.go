package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"

	"facetrack/internal/clock"
	"facetrack/internal/demo"
)

// Demo is the specification of the clip that is part of the program.
const Demo = "demo"

// aviSource plays Motion-JPEG in an AVI file. Grab only moves on; Retrieve decodes.
type aviSource struct {
	info  Info
	r     io.ReaderAt
	file  aviFile
	at    int // frames grabbed so far
	jpeg  []byte
	close func() error // nil once closed
}

// openAVI leaves what is not Motion-JPEG to OpenCV.
func openAVI(path string, opts Options) (Source, error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	s, err := newAVI(f, size, path, opts)
	if err == nil {
		s.close = f.Close
		return s, nil
	}
	if err = orElse(err, f.Close()); !errors.Is(err, errNotMotionJPEG) {
		return nil, err
	}
	other, cvErr := openVideoFile(path, opts)
	if cvErr != nil {
		return nil, fmt.Errorf("%w (%w)", cvErr, err)
	}
	return other, nil
}

func openDemo(opts Options) (Source, error) {
	return newAVI(bytes.NewReader(demo.Clip), int64(len(demo.Clip)), Demo, opts)
}

func newAVI(r io.ReaderAt, size int64, name string, opts Options) (*aviSource, error) {
	file, err := scanAVI(r, size)
	if errors.Is(err, errNotMotionJPEG) {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnsupported, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	if err := checkSize(name, file.width, file.height); err != nil {
		return nil, err
	}
	if len(file.frames) == 0 {
		return nil, fmt.Errorf("%w: %s holds no complete frame: %w", ErrCorrupt, name, orElse(file.damage, errNoFrames))
	}
	s := &aviSource{r: r, file: file, close: func() error { return nil }}
	s.info = Info{Width: file.width, Height: file.height, Format: BGR, FPS: opts.rate(file.fps), Frames: len(file.frames), Seekable: true, Name: name}
	_, err = s.decode(0)
	var kind jpeg.UnsupportedError
	if errors.As(err, &kind) {
		return nil, fmt.Errorf("%w: %s: %w as it is read here: %w", ErrUnsupported, name, errNotMotionJPEG, kind)
	}
	return s, err
}

func (s *aviSource) Info() Info { return s.info }

// Grab moves on to the next frame. At the end of a damaged file it returns ErrCorrupt instead of io.EOF.
func (s *aviSource) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.close == nil {
		return 0, ErrClosed
	}
	if s.at == len(s.file.frames) {
		return 0, s.end()
	}
	s.at++
	return clock.Now(), nil
}

func (s *aviSource) end() error {
	if s.file.damage != nil {
		return fmt.Errorf("%w: %s: after frame %d: %w", ErrCorrupt, s.info.Name, len(s.file.frames)-1, s.file.damage)
	}
	return io.EOF
}

func (s *aviSource) Retrieve(dst []byte) error {
	if s.close == nil || s.at == 0 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	img, err := s.decode(s.at - 1)
	if err != nil {
		return err
	}
	jpegToBGR(dst, img)
	return nil
}

// decode reads a picture; its size is looked at before memory is taken for it.
func (s *aviSource) decode(i int) (image.Image, error) {
	f := s.file.frames[i]
	fail := func(err error) (image.Image, error) {
		return nil, fmt.Errorf("%w: %s: frame %d at byte %d: %w", ErrCorrupt, s.info.Name, i, f.from, err)
	}
	s.jpeg = append(s.jpeg[:0], make([]byte, f.size)...)
	if n, err := s.r.ReadAt(s.jpeg, f.from); n < len(s.jpeg) {
		return fail(err)
	}
	data := withHuffmanTables(s.jpeg)
	c, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	if c.Width != s.info.Width || c.Height != s.info.Height {
		return fail(fmt.Errorf("it is %d×%d, the file says %d×%d", c.Width, c.Height, s.info.Width, s.info.Height))
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	if !isYCbCr(img) {
		return fail(jpeg.UnsupportedError("colours other than YCbCr and grey"))
	}
	return img, nil
}

func (s *aviSource) Skip(n int64) error {
	if s.close == nil {
		return ErrClosed
	}
	if n > int64(len(s.file.frames)-s.at) {
		s.at = len(s.file.frames)
		return s.end()
	}
	s.at += int(max(n, 0))
	return nil
}

func (s *aviSource) Close() error {
	if s.close == nil {
		return nil
	}
	err := s.close()
	s.close = nil
	return err
}
