package source

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/gif"
	"io"
	"os"

	"facetrack/internal/clock"
)

// gifSource decodes an animated GIF frame by frame: each frame is handed to image/gif as a picture of its
// own, so that memory stays at one canvas however long the clip is.
type gifSource struct {
	info   Info
	data   []byte
	layout *gifLayout
	screen *gifScreen
	at     int // frames composed so far
	one    bytes.Buffer
}

func openGIF(path string, opts Options) (Source, error) {
	data, err := os.ReadFile(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, pathError(path, err)
	}
	return newGIF(data, path, opts)
}

func newGIF(data []byte, name string, opts Options) (*gifSource, error) {
	l, err := scanGIF(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	if err := checkSize(name, l.width, l.height); err != nil {
		return nil, err
	}
	if len(l.frames) == 0 {
		return nil, fmt.Errorf("%w: %s holds no complete frame: %w", ErrCorrupt, name, orElse(l.damage, errGIFShort))
	}
	s := &gifSource{data: data, layout: l, screen: newGIFScreen(l.width, l.height)}
	s.info = Info{Width: l.width, Height: l.height, Format: BGR, FPS: opts.rate(gifRate(l.frames)),
		Frames: len(l.frames), Seekable: true, Name: name}
	if _, err := s.decode(0); err != nil {
		return nil, err
	}
	return s, nil
}

func orElse(err, fallback error) error {
	if err != nil {
		return err
	}
	return fallback
}

// gifRate turns the delays into one rate. Delays below 2/100 s play as 10/100 s, as in browsers.
func gifRate(frames []gifFrame) float64 {
	total := 0
	for _, f := range frames {
		if f.delay < 2 {
			f.delay = 10
		}
		total += f.delay
	}
	return 100 * float64(len(frames)) / float64(total)
}

func (s *gifSource) decode(i int) (*image.Paletted, error) {
	f := s.layout.frames[i]
	s.one.Reset()
	s.one.Write(s.data[:s.layout.header])
	s.one.Write(s.data[f.start:f.end])
	s.one.WriteByte(0x3B)
	img, err := gif.Decode(&s.one)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: frame %d at byte %d: %w", ErrCorrupt, s.info.Name, i, f.start, err)
	}
	p, ok := img.(*image.Paletted)
	if !ok {
		return nil, fmt.Errorf("%w: %s: frame %d has no palette", ErrCorrupt, s.info.Name, i)
	}
	return p, nil
}

func (s *gifSource) Info() Info { return s.info }

// Grab composes the next frame. At the end of a damaged file it returns ErrCorrupt instead of io.EOF.
func (s *gifSource) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.screen == nil {
		return 0, ErrClosed
	}
	if s.at == len(s.layout.frames) {
		if s.layout.damage != nil {
			return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, s.info.Name, s.layout.damage)
		}
		return 0, io.EOF
	}
	img, err := s.decode(s.at)
	if err != nil {
		return 0, err
	}
	s.screen.add(img, s.layout.frames[s.at].disposal)
	s.at++
	return clock.Now(), nil
}

func (s *gifSource) Retrieve(dst []byte) error {
	if s.screen == nil || s.at == 0 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	copy(dst, s.screen.pix)
	return nil
}

// Skip composes the frames in between: later ones build on them.
func (s *gifSource) Skip(n int64) error {
	for ; n > 0; n-- {
		if _, err := s.Grab(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (s *gifSource) Close() error {
	s.data, s.screen = nil, nil
	return nil
}
