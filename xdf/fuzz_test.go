package xdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

var formats = []lsl.Format{lsl.Float32, lsl.Double, lsl.String, lsl.Int32, lsl.Int16, lsl.Int8, lsl.Int64}

// FuzzRoundTrip makes streams and samples of the input, records them and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x03\x02\x00\x01\x02\x02\x01\x05 seven formats, some samples, some text, and stamps of any kind"))
	f.Add([]byte(strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x08", 40)))
	f.Fuzz(func(t *testing.T, input []byte) {
		in := &source{b: input}
		var file bytes.Buffer
		w, err := NewWriter(&file, Options{ChunkSamples: 1 + in.below(5), ChunkTime: time.Hour, BoundaryInterval: time.Duration(1 + in.below(1000))})
		must(t, err)
		streams := make([]*Stream, 1+in.below(4))
		want := make([]xdftest.Stream, len(streams))
		for i := range streams {
			streams[i], err = w.AddStream(lsl.StreamInfo{
				Name: fmt.Sprint("s", i), ChannelCount: 1 + in.below(4), Format: formats[in.below(len(formats))], NominalRate: float64(in.below(3)), SourceID: "x",
			})
			must(t, err)
		}
		for len(in.b) > 0 {
			i := in.below(len(streams))
			in.step(t, streams[i], &want[i])
		}
		must(t, w.Close())
		got := xdftest.MustParse(t, file.Bytes())
		for i, s := range got.Streams {
			if !slices.Equal(s.Samples, want[i].Samples) || !slices.Equal(s.Offsets, want[i].Offsets) || s.Footer == nil {
				t.Errorf("stream %d (%s) has\n%v %v, want\n%v %v", i, s.Header.Format, s.Samples, s.Offsets, want[i].Samples, want[i].Offsets)
			}
		}
	})
}

// source turns bytes into choices; behind their end everything is 0.
type source struct{ b []byte }

func (in *source) take(n int) []byte {
	out := make([]byte, n)
	in.b = in.b[copy(out, in.b):]
	return out
}

func (in *source) below(n int) int { return int(in.take(1)[0]) % n }

func (in *source) float() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(in.take(8)))
}

// step does one thing with a stream and notes what has to be in the file if it was taken.
func (in *source) step(t *testing.T, s *Stream, want *xdftest.Stream) {
	if in.below(16) == 0 {
		o := xdftest.ClockOffset{At: in.float(), Offset: in.float()}
		if s.ClockOffset(o.At, o.Offset) == nil {
			want.Offsets = append(want.Offsets, o)
		}
		return
	}
	ts := []float64{Deduced, 1, float64(1 + len(want.Samples)), 0}[in.below(4)]
	if ts == 0 {
		ts = in.float()
	}
	text, err := in.push(s, ts)
	if valid := ts != 0 && finite(ts) && ts != Deduced; valid && err != nil {
		t.Fatal(err)
	}
	if err != nil {
		return
	}
	if n := len(want.Samples); ts == Deduced {
		ts = want.Samples[n-1].Stamp + 1/s.info.NominalRate
	}
	want.Samples = append(want.Samples, xdftest.Sample{Stamp: ts, Values: text})
}

func (in *source) push(s *Stream, ts float64) (string, error) {
	n := s.info.ChannelCount
	switch s.info.Format {
	case lsl.Float32:
		return values(n, func() float32 { return math.Float32frombits(binary.LittleEndian.Uint32(in.take(4))) }, ts, s.Push)
	case lsl.Double:
		return values(n, in.float, ts, s.PushDouble)
	case lsl.Int64:
		return values(n, func() int64 { return int64(binary.LittleEndian.Uint64(in.take(8))) }, ts, s.PushInt64)
	case lsl.Int32:
		return values(n, func() int32 { return int32(binary.LittleEndian.Uint32(in.take(4))) }, ts, s.PushInt32)
	case lsl.Int16:
		return values(n, func() int16 { return int16(binary.LittleEndian.Uint16(in.take(2))) }, ts, s.PushInt16)
	case lsl.Int8:
		return values(n, func() int8 { return int8(in.take(1)[0]) }, ts, s.PushInt8)
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = string(in.take(in.below(8))) + strings.Repeat("y", in.below(2)*300)
	}
	quoted := make([]string, n)
	for i := range texts {
		quoted[i] = strconv.Quote(texts[i])
	}
	return strings.Join(quoted, " "), s.PushString(ts, texts...)
}

// values pushes n values and returns them as the reader would.
func values[T any](n int, one func() T, ts float64, push func(float64, []T) error) (string, error) {
	all := make([]T, n)
	text := make([]string, n)
	for i := range all {
		all[i] = one()
		text[i] = fmt.Sprint(all[i])
	}
	return strings.Join(text, " "), push(ts, all)
}
