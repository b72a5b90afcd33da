package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var (
	errNotMotionJPEG = errors.New("not Motion-JPEG")
	errNoFrames      = errors.New("it ends after the headers")
)

// aviFile is what a RIFF file says of its first video stream, and where its frames lie.
type aviFile struct {
	width, height int
	fps           float64
	frames        []aviFrame
	damage        error // what is wrong after the last frame
}

// aviFrame is a picture's place in the file. A frame without data repeats the one before: it has the same place.
type aviFrame struct {
	from int64
	size int
}

// aviChunk is a name and the bytes that belong to it; a list has a kind and chunks within.
type aviChunk struct {
	name, kind string
	from, to   int64
}

const (
	aviStreamHeader = 28      // bytes of strh up to the rate
	aviBitmapHeader = 20      // bytes of strf up to the codec
	aviMaxFrame     = 1 << 26 // bytes of one JPEG picture
)

type aviScan struct {
	r       io.ReaderAt
	size    int64
	out     aviFile
	streams int    // seen so far
	frame   string // name of the video's chunks without their last letter; empty before its header
}

// scanAVI reads headers and finds the frames; the index at the end of a file is not needed. A file that is cut off or damaged within its
// frames keeps those before.
func scanAVI(r io.ReaderAt, size int64) (aviFile, error) {
	s := &aviScan{r: r, size: size}
	want := "AVI "
	for at := int64(0); at < size; want = "AVIX" {
		c, err := s.chunk(at, size)
		if c.name != "RIFF" && c.name != "" || err == nil && c.kind != want {
			err = fmt.Errorf("no RIFF list %q at byte %d", want, at)
		}
		if err == nil {
			err = s.each(c, s.top)
		}
		if s.frame == "" {
			return s.out, orElse(err, errors.New("no header of a video stream"))
		}
		if s.out.damage = orElse(s.out.damage, err); s.out.damage != nil {
			return s.out, nil
		}
		at = c.to + c.to%2
	}
	return s.out, nil
}

func (s *aviScan) read(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if got, err := s.r.ReadAt(b, at); got < n {
		return nil, fmt.Errorf("byte %d: %w", at, err)
	}
	return b, nil
}

// chunk reads the head of a chunk. A list may reach beyond the end of a file that was cut off; what it holds may not.
func (s *aviScan) chunk(at, end int64) (aviChunk, error) {
	const head, listHead = 8, 12
	if at+head > end {
		return aviChunk{}, fmt.Errorf("the file ends at byte %d, inside the head of a chunk", end)
	}
	b, err := s.read(at, head)
	if err != nil {
		return aviChunk{}, err
	}
	c := aviChunk{name: string(b[:4]), from: at + head, to: at + head + int64(binary.LittleEndian.Uint32(b[4:]))}
	if c.name != "RIFF" && c.name != "LIST" {
		if c.to > end {
			return c, fmt.Errorf("chunk %q at byte %d goes on to byte %d, but what holds it ends at byte %d", c.name, at, c.to, end)
		}
		return c, nil
	}
	if at+listHead > end || c.to < at+listHead {
		return c, fmt.Errorf("list at byte %d has no kind", at)
	}
	kind, err := s.read(c.from, 4)
	if err != nil {
		return c, err
	}
	c.kind, c.from = string(kind), c.from+4
	if c.to > s.size {
		s.out.damage = fmt.Errorf("the file ends at byte %d, but goes on to byte %d by its headers", s.size, c.to)
	}
	if c.to = min(c.to, s.size); c.to > end {
		return c, fmt.Errorf("list %q at byte %d goes on to byte %d, but what holds it ends at byte %d", c.kind, at, c.to, end)
	}
	return c, nil
}

// each calls f with every chunk in a list.
func (s *aviScan) each(list aviChunk, f func(aviChunk) error) error {
	for at := list.from; at < list.to; {
		c, err := s.chunk(at, list.to)
		if err == nil {
			err = f(c)
		}
		if err != nil {
			return err
		}
		at = c.to + c.to%2
	}
	return nil
}

func (s *aviScan) top(c aviChunk) error {
	switch c.kind {
	case "hdrl":
		return s.each(c, s.header)
	case "movi":
		if s.frame == "" {
			return fmt.Errorf("frames at byte %d, before the header of a video stream", c.from)
		}
		return s.each(c, s.data)
	}
	return nil
}

// header takes what the first video stream says of itself.
func (s *aviScan) header(c aviChunk) error {
	if c.kind != "strl" {
		return nil
	}
	number := s.streams
	s.streams++
	if s.frame != "" {
		return nil
	}
	var v aviStreamHead
	if err := s.each(c, func(c aviChunk) error { return s.stream(&v, c) }); err != nil || v.kind != "vids" {
		return err
	}
	if v.codec != "MJPG" && v.codec != "mjpg" {
		return fmt.Errorf("its video is %q: %w", v.codec, errNotMotionJPEG)
	}
	s.frame = fmt.Sprintf("%02dd", number)
	s.out.width, s.out.height, s.out.fps = v.width, v.height, v.fps
	return nil
}

// aviStreamHead is what the headers of a stream say; of sound, codec and size mean nothing.
type aviStreamHead struct {
	kind, codec   string
	width, height int
	fps           float64
}

func (s *aviScan) stream(v *aviStreamHead, c aviChunk) error {
	switch c.name {
	case "strh":
		b, err := s.fixed(c, aviStreamHeader)
		if err != nil {
			return err
		}
		v.kind = string(b[:4])
		if scale, rate := binary.LittleEndian.Uint32(b[20:]), binary.LittleEndian.Uint32(b[24:]); scale > 0 {
			v.fps = float64(rate) / float64(scale)
		}
	case "strf":
		if v.kind != "vids" {
			return nil
		}
		b, err := s.fixed(c, aviBitmapHeader)
		if err != nil {
			return err
		}
		v.width, v.height = int(int32(binary.LittleEndian.Uint32(b[4:]))), int(int32(binary.LittleEndian.Uint32(b[8:])))
		v.height = max(v.height, -v.height) // < 0: rows from the top
		v.codec = string(b[16:20])
	}
	return nil
}

// fixed is the beginning of a chunk, which must be so long.
func (s *aviScan) fixed(c aviChunk, n int) ([]byte, error) {
	if c.to-c.from < int64(n) {
		return nil, fmt.Errorf("chunk %q at byte %d has %d bytes, at least %d are needed", c.name, c.from, c.to-c.from, n)
	}
	return s.read(c.from, n)
}

// data takes a frame, or those of a group.
func (s *aviScan) data(c aviChunk) error {
	if c.kind == "rec " {
		return s.each(c, func(c aviChunk) error {
			if c.kind != "" {
				return fmt.Errorf("list %q at byte %d within a group of frames", c.kind, c.from)
			}
			return s.data(c)
		})
	}
	if len(c.name) != 4 || c.name[:3] != s.frame || c.name[3] != 'c' && c.name[3] != 'b' {
		return nil // sound, an index, filling
	}
	f, n := aviFrame{c.from, int(c.to - c.from)}, len(s.out.frames)
	switch {
	case f.size > aviMaxFrame:
		return fmt.Errorf("a frame of %d bytes at byte %d", f.size, c.from)
	case f.size == 0 && n == 0:
		return fmt.Errorf("the first frame, at byte %d, repeats one before it", c.from)
	case f.size == 0:
		f = s.out.frames[n-1]
	}
	s.out.frames = append(s.out.frames, f)
	return nil
}
