package xdf

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

// recording is a file as the reader of these tests finds it. The reader refuses everything that the writer should not write.
type recording struct {
	date       string
	streams    []*recorded // in the order of their headers
	boundaries int
	ends       []int // offsets at which a chunk ends, the magic's first
}

type recorded struct {
	header struct {
		Name   string   `xml:"name"`
		Type   string   `xml:"type"`
		Count  int      `xml:"channel_count"`
		Format string   `xml:"channel_format"`
		Rate   float64  `xml:"nominal_srate"`
		Labels []string `xml:"desc>channels>channel>label"`
	}
	chunks  []int // samples in each
	samples []sample
	offsets []clockOffset
	footer  *footerXML
}

type footerXML struct {
	First   string `xml:"first_timestamp"`
	Last    string `xml:"last_timestamp"`
	Count   int    `xml:"sample_count"`
	Rate    string `xml:"measured_srate"`
	Offsets []struct {
		Time  string `xml:"time"`
		Value string `xml:"value"`
	} `xml:"clock_offsets>offset"`
}

type sample struct {
	ts     float64
	values string // as text, quoted
}

var errCut = errors.New("the file ends within a chunk")

// parse reads a whole file. With errCut comes what was there before the cut.
func parse(file []byte) (*recording, error) {
	r := &recording{}
	c := &cursor{b: file}
	if got := c.take(4); string(got) != "XDF:" {
		return r, fmt.Errorf("magic %q: %w", got, errCut)
	}
	for r.ends = append(r.ends, 4); len(c.b) > 0; r.ends = append(r.ends, len(file)-len(c.b)) {
		body := &cursor{b: c.take(int(c.length()))}
		if c.cut {
			return r, errCut
		}
		t := tag(body.uint(2))
		if err := r.chunk(t, body); err != nil {
			return r, fmt.Errorf("chunk %d, tag %d: %w", len(r.ends), t, err)
		}
		if body.cut || len(body.b) > 0 {
			return r, fmt.Errorf("chunk %d, tag %d: %d bytes left, cut %v", len(r.ends), t, len(body.b), body.cut)
		}
	}
	return r, nil
}

func (r *recording) chunk(t tag, body *cursor) error {
	if first := len(r.ends) == 1; first != (t == tagFileHeader) {
		return errors.New("the file header is not the first chunk, or not the only one")
	}
	switch t {
	case tagFileHeader:
		var header struct {
			Version string `xml:"version"`
			Date    string `xml:"datetime"`
		}
		err := body.document(&header)
		if r.date = header.Date; err == nil && header.Version != "1.0" {
			err = fmt.Errorf("version %q", header.Version)
		}
		return err
	case tagBoundary:
		r.boundaries++
		if !bytes.Equal(body.take(16), []byte("\x43\xA5\x46\xDC\xCB\xF5\x41\x0F\xB3\x0E\xD5\x46\x73\x83\xCB\xE4")) {
			return errors.New("not the boundary's 16 bytes")
		}
		return nil
	}
	id := int(body.uint(4))
	if t == tagStreamHeader {
		if id != len(r.streams)+1 {
			return fmt.Errorf("id %d behind %d streams", id, len(r.streams))
		}
		s := &recorded{}
		r.streams = append(r.streams, s)
		return body.document(&s.header)
	}
	if id < 1 || id > len(r.streams) || r.streams[id-1].footer != nil {
		return fmt.Errorf("stream %d has no header or has ended", id)
	}
	return r.streams[id-1].chunk(t, body)
}

func (s *recorded) chunk(t tag, body *cursor) error {
	switch t {
	case tagSamples:
		return s.read(body)
	case tagClockOffset:
		s.offsets = append(s.offsets, clockOffset{body.float(), body.float()})
		return nil
	case tagStreamFooter:
		s.footer = &footerXML{}
		if err := body.document(s.footer); err != nil {
			return err
		}
		return s.checkFooter()
	}
	return errors.New("unknown tag")
}

func (s *recorded) read(body *cursor) error {
	n := int(body.length())
	s.chunks = append(s.chunks, n)
	for i := 0; i < n && !body.cut; i++ {
		var one sample
		switch width := body.uint(1); {
		case width == 8:
			one.ts = body.float()
		case width == 0 && s.header.Rate > 0 && i > 0:
			one.ts = s.samples[len(s.samples)-1].ts + 1/s.header.Rate
		default:
			return fmt.Errorf("sample %d has a stamp of %d bytes", i, width)
		}
		values := make([]string, s.header.Count)
		for v := range values {
			values[v] = body.value(s.header.Format)
		}
		one.values = strings.Join(values, " ")
		s.samples = append(s.samples, one)
	}
	if n == 0 {
		return errors.New("no samples")
	}
	return nil
}

func (s *recorded) checkFooter() error {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	var want footerXML
	want.First, want.Last, want.Count, want.Rate = "0", "0", len(s.samples), "0"
	if n := len(s.samples); n > 0 {
		first, last := s.samples[0].ts, s.samples[n-1].ts
		want.First, want.Last = text(first), text(last)
		if rate := float64(n-1) / (last - first); last > first && !math.IsInf(rate, 0) {
			want.Rate = text(rate)
		}
	}
	for _, o := range s.offsets {
		want.Offsets = append(want.Offsets, struct {
			Time  string `xml:"time"`
			Value string `xml:"value"`
		}{text(o.at), text(o.offset)})
	}
	if !reflect.DeepEqual(want, *s.footer) {
		return fmt.Errorf("footer %+v, want %+v", *s.footer, want)
	}
	return nil
}

// mustParse fails the test unless the file is whole.
func mustParse(t testing.TB, file []byte) *recording {
	t.Helper()
	r, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
