// Package xdftest reads XDF files for tests: with a reader of its own, and with libxdf where that is installed. Only tests import it.
package xdftest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Recording is a file as this reader finds it. It refuses everything that package xdf should not write.
type Recording struct {
	Date       string
	Streams    []*Stream // in the order of their headers
	Boundaries int
	Ends       []int // offsets at which a chunk ends, the magic's first
}

// Stream is one stream of a recording.
type Stream struct {
	Header struct {
		Name   string   `xml:"name"`
		Type   string   `xml:"type"`
		Count  int      `xml:"channel_count"`
		Format string   `xml:"channel_format"`
		Rate   float64  `xml:"nominal_srate"`
		Labels []string `xml:"desc>channels>channel>label"`
	}
	Chunks  []int // samples in each
	Samples []Sample
	Offsets []ClockOffset
	Footer  *Footer
}

// Footer is what stands at the end of a stream.
type Footer struct {
	First   string `xml:"first_timestamp"`
	Last    string `xml:"last_timestamp"`
	Count   int    `xml:"sample_count"`
	Rate    string `xml:"measured_srate"`
	Offsets []struct {
		Time  string `xml:"time"`
		Value string `xml:"value"`
	} `xml:"clock_offsets>offset"`
}

// Sample is one row.
type Sample struct {
	Stamp  float64
	Values string // a space between two, texts quoted
}

// ClockOffset is what was measured at an instant.
type ClockOffset struct{ At, Offset float64 }

type tag uint16

const (
	tagFileHeader tag = iota + 1
	tagStreamHeader
	tagSamples
	tagClockOffset
	tagBoundary
	tagStreamFooter
)

// ErrCut says that a file is whole up to its last chunk.
var ErrCut = errors.New("the file ends within a chunk")

// Parse reads a whole file. With ErrCut comes what was there before the cut.
func Parse(file []byte) (*Recording, error) {
	r := &Recording{}
	c := &cursor{b: file}
	if got := c.take(4); string(got) != "XDF:" {
		return r, fmt.Errorf("magic %q: %w", got, ErrCut)
	}
	for r.Ends = append(r.Ends, 4); len(c.b) > 0; r.Ends = append(r.Ends, len(file)-len(c.b)) {
		body := &cursor{b: c.take(int(c.length()))}
		if c.cut {
			return r, ErrCut
		}
		t := tag(body.uint(2))
		if err := r.chunk(t, body); err != nil {
			return r, fmt.Errorf("chunk %d, tag %d: %w", len(r.Ends), t, err)
		}
		if body.cut || len(body.b) > 0 {
			return r, fmt.Errorf("chunk %d, tag %d: %d bytes left, cut %v", len(r.Ends), t, len(body.b), body.cut)
		}
	}
	return r, nil
}

func (r *Recording) chunk(t tag, body *cursor) error {
	if first := len(r.Ends) == 1; first != (t == tagFileHeader) {
		return errors.New("the file header is not the first chunk, or not the only one")
	}
	switch t {
	case tagFileHeader:
		var header struct {
			Version string `xml:"version"`
			Date    string `xml:"datetime"`
		}
		err := body.document(&header)
		if r.Date = header.Date; err == nil && header.Version != "1.0" {
			err = fmt.Errorf("version %q", header.Version)
		}
		return err
	case tagBoundary:
		r.Boundaries++
		if !bytes.Equal(body.take(16), []byte("\x43\xA5\x46\xDC\xCB\xF5\x41\x0F\xB3\x0E\xD5\x46\x73\x83\xCB\xE4")) {
			return errors.New("not the boundary's 16 bytes")
		}
		return nil
	}
	id := int(body.uint(4))
	if t == tagStreamHeader {
		if id != len(r.Streams)+1 {
			return fmt.Errorf("id %d behind %d streams", id, len(r.Streams))
		}
		s := &Stream{}
		r.Streams = append(r.Streams, s)
		return body.document(&s.Header)
	}
	if id < 1 || id > len(r.Streams) || r.Streams[id-1].Footer != nil {
		return fmt.Errorf("stream %d has no header or has ended", id)
	}
	return r.Streams[id-1].chunk(t, body)
}

func (s *Stream) chunk(t tag, body *cursor) error {
	switch t {
	case tagSamples:
		return s.read(body)
	case tagClockOffset:
		s.Offsets = append(s.Offsets, ClockOffset{body.float(), body.float()})
		return nil
	case tagStreamFooter:
		s.Footer = &Footer{}
		if err := body.document(s.Footer); err != nil {
			return err
		}
		return s.checkFooter()
	}
	return errors.New("unknown tag")
}

func (s *Stream) read(body *cursor) error {
	n := int(body.length())
	s.Chunks = append(s.Chunks, n)
	for i := 0; i < n && !body.cut; i++ {
		var one Sample
		switch width := body.uint(1); {
		case width == 8:
			one.Stamp = body.float()
		case width == 0 && s.Header.Rate > 0 && i > 0:
			one.Stamp = s.Samples[len(s.Samples)-1].Stamp + 1/s.Header.Rate
		default:
			return fmt.Errorf("sample %d has a stamp of %d bytes", i, width)
		}
		values := make([]string, s.Header.Count)
		for v := range values {
			values[v] = body.value(s.Header.Format)
		}
		one.Values = strings.Join(values, " ")
		s.Samples = append(s.Samples, one)
	}
	if n == 0 {
		return errors.New("no samples")
	}
	return nil
}

func (s *Stream) checkFooter() error {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	var want Footer
	want.First, want.Last, want.Count, want.Rate = "0", "0", len(s.Samples), "0"
	if n := len(s.Samples); n > 0 {
		first, last := s.Samples[0].Stamp, s.Samples[n-1].Stamp
		want.First, want.Last = text(first), text(last)
		if rate := float64(n-1) / (last - first); last > first && !math.IsInf(rate, 0) {
			want.Rate = text(rate)
		}
	}
	for _, o := range s.Offsets {
		want.Offsets = append(want.Offsets, struct {
			Time  string `xml:"time"`
			Value string `xml:"value"`
		}{text(o.At), text(o.Offset)})
	}
	if !reflect.DeepEqual(want, *s.Footer) {
		return fmt.Errorf("footer %+v, want %+v", *s.Footer, want)
	}
	return nil
}

// MustParse fails the test unless the file is whole.
func MustParse(t testing.TB, file []byte) *Recording {
	t.Helper()
	r, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
