package xdf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

// TestLibxdf reads all formats with a library that knows nothing of this package. libxdf keeps every number as a float32, so the
// numbers here are exact in it. As of 0.99.8 it reads one text a sample: a text stream of several channels gets it out of step. It
// adds clock offsets to stamps as it reads, and takes first and last stamps from the samples.
func TestLibxdf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.xdf")
	w, err := Create(path, Options{ChunkSamples: 3, BoundaryInterval: time.Nanosecond})
	must(t, err)
	want := []string{"version 1"}
	for _, c := range []struct {
		format lsl.Format
		second func(i int) float64 // the second value of a sample; the first is 1
		push   func(s *Stream, ts, second float64) error
	}{
		{lsl.Float32, eighth, func(s *Stream, ts, v float64) error { return s.Push(ts, []float32{1, float32(v)}) }},
		{lsl.Double, eighth, func(s *Stream, ts, v float64) error { return s.PushDouble(ts, []float64{1, v}) }},
		{lsl.Int64, scaled(1 << 40), func(s *Stream, ts, v float64) error { return s.PushInt64(ts, []int64{1, int64(v)}) }},
		{lsl.Int32, scaled(-1 << 24), func(s *Stream, ts, v float64) error { return s.PushInt32(ts, []int32{1, int32(v)}) }},
		{lsl.Int16, scaled(-3000), func(s *Stream, ts, v float64) error { return s.PushInt16(ts, []int16{1, int16(v)}) }},
		{lsl.Int8, scaled(-14), func(s *Stream, ts, v float64) error { return s.PushInt8(ts, []int8{1, int8(v)}) }},
	} {
		name := "grün & <" + string(c.format) + ">"
		s, err := w.AddStream(lsl.StreamInfo{
			Name: name, Type: "MoCap", ChannelCount: 2, NominalRate: 8, Format: c.format, SourceID: "s",
			Desc: lsl.Desc{Channels: []lsl.Channel{{Label: "a<b>&", Unit: "µV"}, {Label: "ü", Unit: "degrees"}}},
		})
		must(t, err)
		want = append(want, fmt.Sprintf("stream x%x x%x 2 %s 8", name, "MoCap", c.format))
		want = append(want, fmt.Sprintf("label x%x x%x", "a<b>&", "µV"), fmt.Sprintf("label x%x x%x", "ü", "degrees"))
		for i := range 10 {
			ts := 1000 + float64(i)/8
			want = append(want, fmt.Sprintf("sample %.17g 1 %.9g", ts, c.second(i)))
			if i%2 == 1 {
				ts = Deduced
			}
			must(t, c.push(s, ts, c.second(i)))
		}
		want = append(want, "footer 10 1000 1001.125 8")
	}
	want = append(want, recordMarkers(t, w)...)
	must(t, w.Close())

	got := xdftest.Libxdf(t, path)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d:\n%q\nwant\n%q", i, got[i:], want[i:])
		}
	}
}

// recordMarkers records texts, one longer than a length of one byte, in a stream whose clock is 0.5 s behind.
func recordMarkers(t *testing.T, w *Writer) (want []string) {
	s, err := w.AddStream(lsl.StreamInfo{Name: "marks", Type: "Markers", ChannelCount: 1, Format: lsl.String, SourceID: "m"})
	must(t, err)
	must(t, s.ClockOffset(1, 0.5))
	want = append(want, fmt.Sprintf("stream x%x x%x 1 string 0", "marks", "Markers"))
	for i, text := range []string{"blink", "", "grün", strings.Repeat("x", 70_000)} {
		must(t, s.PushString(float64(i+1), text))
		want = append(want, fmt.Sprintf("sample %.17g x%x", float64(i)+1.5, text))
	}
	return append(want, "offset 1 0.5", "footer 4 1.5 4.5 1")
}

func eighth(i int) float64 { return float64(i) / 8 }

func scaled(by int) func(int) float64 { return func(i int) float64 { return float64(by * i) } }
