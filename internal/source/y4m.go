package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"facetrack/internal/clock"
)

// y4mSource reads uncompressed YUV4MPEG2. Grab only finds the frame; Retrieve reads its samples.
type y4mSource struct {
	info   Info
	r      io.ReaderAt
	size   int64
	next   int64 // where the next frame header is expected
	frame  int64 // where the samples of the grabbed frame start, 0 before the first
	count  int64 // frames grabbed
	head   y4mHeader
	packer *y4mPacker
	planar []byte // samples of one frame as the file holds them, allocated by the first Retrieve
	close  func() error
}

func openY4M(path string, opts Options) (Source, error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	s, err := newY4M(f, size, path, opts)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.close = f.Close
	return s, nil
}

func newY4M(r io.ReaderAt, size int64, name string, opts Options) (*y4mSource, error) {
	s := &y4mSource{r: r, size: size, close: func() error { return nil }}
	line, next, err := s.line(0)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: stream header: %w", ErrCorrupt, name, err)
	}
	if s.head, err = parseY4MHeader(line); err != nil {
		if !errors.Is(err, ErrUnsupported) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	h := s.head
	if err := checkSize(name, h.width, h.height); err != nil {
		return nil, err
	}
	s.next, s.packer = next, newY4MPacker(h)
	s.info = Info{Width: h.width, Height: h.height, Format: h.format(), FPS: opts.rate(h.fps),
		Frames: s.countFrames(), Seekable: true, Name: name}
	if _, _, err := s.find(); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: %s holds no frame, only a header", ErrCorrupt, name)
		}
		return nil, err
	}
	return s, nil
}

// countFrames assumes frame headers without parameters, which is what everybody writes; else it does not know.
func (s *y4mSource) countFrames() int {
	each := int64(len("FRAME\n") + s.head.frameBytes())
	if rest := s.size - s.next; rest%each == 0 {
		return int(rest / each)
	}
	return -1
}

// line reads a header line at off and returns it without the newline, and where the next byte is.
func (s *y4mSource) line(off int64) (string, int64, error) {
	buf := make([]byte, min(y4mMaxHeader, s.size-off))
	n, err := s.r.ReadAt(buf, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	end := bytes.IndexByte(buf[:n], '\n')
	if end < 0 {
		return "", 0, fmt.Errorf("no line end between byte %d and byte %d", off, off+int64(n))
	}
	return string(buf[:end]), off + int64(end) + 1, nil
}

// find returns where the samples of the next frame start and where the frame after it does.
func (s *y4mSource) find() (samples, after int64, err error) {
	if s.next == s.size {
		return 0, 0, io.EOF
	}
	line, samples, err := s.line(s.next)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s: header of frame %d: %w", ErrCorrupt, s.info.Name, s.count, err)
	}
	if line != "FRAME" && (len(line) < 6 || line[:6] != "FRAME ") {
		return 0, 0, fmt.Errorf("%w: %s: no FRAME mark at byte %d, where frame %d should start", ErrCorrupt, s.info.Name, s.next, s.count)
	}
	after = samples + int64(s.head.frameBytes())
	if after > s.size {
		return 0, 0, fmt.Errorf("%w: %s: the file ends at byte %d, inside frame %d, which goes on to byte %d",
			ErrCorrupt, s.info.Name, s.size, s.count, after)
	}
	return samples, after, nil
}

func (s *y4mSource) Info() Info { return s.info }

func (s *y4mSource) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.close == nil {
		return 0, ErrClosed
	}
	samples, after, err := s.find()
	if err != nil {
		return 0, err
	}
	s.frame, s.next = samples, after
	s.count++
	return clock.Now(), nil
}

func (s *y4mSource) Retrieve(dst []byte) error {
	if s.frame == 0 || s.close == nil {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	if s.planar == nil {
		s.planar = make([]byte, s.head.frameBytes())
	}
	if n, err := s.r.ReadAt(s.planar, s.frame); n < len(s.planar) {
		return fmt.Errorf("%w: %s: frame %d: %w", ErrCorrupt, s.info.Name, s.count-1, err)
	}
	s.packer.pack(dst, s.planar, s.info.Format)
	return nil
}

func (s *y4mSource) Skip(n int64) error {
	for ; n > 0; n-- {
		if _, err := s.Grab(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (s *y4mSource) Close() error {
	if s.close == nil {
		return nil
	}
	err := s.close()
	s.close = nil
	return err
}
