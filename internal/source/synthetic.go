package source

import (
	"context"
	"fmt"
	"io"

	"facetrack/internal/clock"
)

// synthetic draws frames with known faces. Only what moves is drawn and converted anew, on top of a fixed
// background in the frame's own format, so that a frame costs little more than a copy.
type synthetic struct {
	info   Info
	params SyntheticParams
	at     int64  // frames grabbed, -1 when closed
	plain  []byte // background in BGR
	bgr    []byte // background with the faces of the last frame
	base   []byte // background in the frame's format
}

func openSynthetic(spec string) (Source, error) {
	p, err := ParseSynthetic(spec)
	if err != nil {
		return nil, err
	}
	return NewSynthetic(p), nil
}

// NewSynthetic returns the clip that p describes; ParseSynthetic makes valid parameters.
func NewSynthetic(p SyntheticParams) Source {
	s := &synthetic{params: p, info: Info{Width: p.Width, Height: p.Height, Format: p.Format, FPS: p.FPS,
		Frames: p.Frames, Seekable: true, Name: fmt.Sprintf("synthetic:faces=%d,size=%dx%d", p.Faces, p.Width, p.Height)}}
	s.plain = make([]byte, frameBytes(BGR, p.Width, p.Height))
	painter{s.plain, p.Width, p.Height}.background()
	s.bgr = append([]byte(nil), s.plain...)
	s.base = make([]byte, s.info.FrameBytes())
	convertRect(s.base, s.plain, p.Format, p.Width, p.Height, 0, 0, p.Width, p.Height)
	return s
}

func (s *synthetic) Info() Info { return s.info }

func (s *synthetic) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.Skip(1); err != nil {
		return 0, err
	}
	return clock.Now(), nil
}

func (s *synthetic) Skip(n int64) error {
	if s.at < 0 {
		return ErrClosed
	}
	if s.params.Frames >= 0 && n > int64(s.params.Frames)-s.at {
		s.at = int64(s.params.Frames)
		return io.EOF
	}
	s.at += max(n, 0)
	return nil
}

func (s *synthetic) Retrieve(dst []byte) error {
	if s.at < 1 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	copy(dst, s.base)
	faces := SyntheticTruth(s.params, s.at-1)
	p := painter{s.bgr, s.info.Width, s.info.Height}
	for _, f := range faces {
		p.face(f)
	}
	p.marker(uint32(s.at - 1))
	for _, f := range faces {
		s.convert(dst, s.around(f))
	}
	s.convert(dst, rect{0, 0, markerBits * markerCell, markerCell})
	for _, f := range faces {
		s.restore(s.around(f))
	}
	return nil
}

func (s *synthetic) Close() error {
	s.at = -1
	return nil
}

type rect struct{ x0, y0, x1, y1 int }

// around returns the even rectangle that holds a face.
func (s *synthetic) around(f FaceTruth) rect {
	r := f.Size/2 + 2
	return rect{
		x0: max(0, int(f.CX-r)) &^ 1, x1: min(s.info.Width, int(f.CX+r)+2) &^ 1,
		y0: max(0, int(f.CY-r)) &^ 1, y1: min(s.info.Height, int(f.CY+r)+2) &^ 1,
	}
}

func (s *synthetic) convert(dst []byte, r rect) {
	convertRect(dst, s.bgr, s.info.Format, s.info.Width, s.info.Height, r.x0, r.y0, r.x1, r.y1)
}

func (s *synthetic) restore(r rect) {
	for y := r.y0; y < r.y1; y++ {
		o := 3 * (y*s.info.Width + r.x0)
		copy(s.bgr[o:o+3*(r.x1-r.x0)], s.plain[o:])
	}
}
