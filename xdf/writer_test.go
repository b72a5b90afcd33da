package xdf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

func info(name string, format lsl.Format, channels int) lsl.StreamInfo {
	return lsl.StreamInfo{Name: name, Type: "Test", ChannelCount: channels, NominalRate: 10, Format: format, SourceID: name}
}

// begin starts a recording of one Float32 stream of one channel in memory. The test closes it.
func begin(t testing.TB, opts Options) (*bytes.Buffer, *Writer, *Stream) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, opts)
	must(t, err)
	s, err := w.AddStream(info("gaze", lsl.Float32, 1))
	must(t, err)
	return &file, w, s
}

func TestEveryFormat(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{})
	must(t, err)
	want := map[string]string{
		"float32": "NaN -Inf 3.4028235e+38", "double64": "0.1 5e-324 -3", "string": `"" "grün\x00" "` + strings.Repeat("x", 300) + `"`,
		"int64": "9223372036854775807 -9223372036854775808 -1", "int32": "2147483647 -2147483648 -1", "int16": "32767 -32768 -1", "int8": "127 -128 -1",
	}
	for name := range want {
		s, err := w.AddStream(info(name, lsl.Format(name), 3))
		must(t, err)
		for _, other := range []error{
			pushOr(s, lsl.Float32, func() error {
				return s.Push(1, []float32{float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32})
			}),
			pushOr(s, lsl.Double, func() error { return s.PushDouble(1, []float64{0.1, math.SmallestNonzeroFloat64, -3}) }),
			pushOr(s, lsl.String, func() error { return s.PushString(1, "", "grün\x00", strings.Repeat("x", 300)) }),
			pushOr(s, lsl.Int64, func() error { return s.PushInt64(1, []int64{math.MaxInt64, math.MinInt64, -1}) }),
			pushOr(s, lsl.Int32, func() error { return s.PushInt32(1, []int32{math.MaxInt32, math.MinInt32, -1}) }),
			pushOr(s, lsl.Int16, func() error { return s.PushInt16(1, []int16{math.MaxInt16, math.MinInt16, -1}) }),
			pushOr(s, lsl.Int8, func() error { return s.PushInt8(1, []int8{127, -128, -1}) }),
		} {
			must(t, other)
		}
	}
	must(t, w.Close())
	for _, s := range xdftest.MustParse(t, file.Bytes()).Streams {
		if s.Header.Format != s.Header.Name || len(s.Samples) != 1 || s.Samples[0] != (xdftest.Sample{Stamp: 1, Values: want[s.Header.Name]}) {
			t.Errorf("%s: %+v, want %s", s.Header.Name, s.Samples, want[s.Header.Name])
		}
	}
}

// pushOr pushes into a stream of that format; into any other it has to be refused, with the stream's name.
func pushOr(s *Stream, format lsl.Format, push func() error) error {
	err := push()
	if format == s.info.Format {
		return err
	}
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), s.String()) {
		return fmt.Errorf("%s into %s: %w", format, s, err)
	}
	return nil
}

func TestChunksByCountAndSize(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{ChunkSamples: 3, ChunkTime: time.Hour})
	must(t, err)
	s, err := w.AddStream(info("text", lsl.String, 1))
	must(t, err)
	for i, text := range []string{"a", "b", "c", "d", strings.Repeat("x", chunkBytes), "e"} {
		must(t, s.PushString(float64(i+1), text))
	}
	must(t, w.Flush())
	must(t, w.Flush())
	must(t, w.Close())
	if got := xdftest.MustParse(t, file.Bytes()).Streams[0].Chunks; !slices.Equal(got, []int{3, 2, 1}) {
		t.Errorf("samples in chunks: %v", got)
	}
}

func TestChunksAndBoundariesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, w, s := begin(t, Options{})
		quiet, err := w.AddStream(info("quiet", lsl.String, 1))
		must(t, err)
		must(t, quiet.PushString(1, "start"))
		for i := range 250 { // 25 s
			must(t, s.Push(float64(i+1), []float32{0}))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		before := xdftest.MustParse(t, file.Bytes())
		time.Sleep(time.Minute) // nothing to write, no boundary
		synctest.Wait()
		if after := xdftest.MustParse(t, file.Bytes()); before.Boundaries != 2 || after.Boundaries != 2 {
			t.Errorf("%d boundaries in 25 s, %d after a quiet minute", before.Boundaries, after.Boundaries)
		}
		if n := len(before.Streams[0].Samples); n < 245 || slices.Max(before.Streams[0].Chunks) > 6 || len(before.Streams[1].Samples) != 1 {
			t.Errorf("%d samples in chunks of %v after 25 s", n, before.Streams[0].Chunks)
		}
		must(t, w.Close())
		if n := len(xdftest.MustParse(t, file.Bytes()).Streams[0].Samples); n != 250 {
			t.Errorf("%d samples", n)
		}
	})
}

// A chunk that is lost must not shift what comes after it.
func TestDeducedStamps(t *testing.T) {
	file, w, s := begin(t, Options{ChunkSamples: 2})
	if err := s.Push(Deduced, []float32{0}); !errors.Is(err, ErrTimestamp) {
		t.Errorf("nothing to deduce from: %v", err)
	}
	must(t, s.Push(5, []float32{0}))
	for range 3 {
		must(t, s.Push(Deduced, []float32{0}))
	}
	must(t, w.Close())
	got := xdftest.MustParse(t, file.Bytes()).Streams[0] // refuses a chunk that begins with a deduced stamp
	for i, want := range []float64{5, 5.1, 5.2, 5.3} {
		if math.Abs(got.Samples[i].Stamp-want) > 1e-12 {
			t.Errorf("sample %d at %v, want %v", i, got.Samples[i].Stamp, want)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.xdf")
	w, err := Create(path, Options{ChunkTime: time.Millisecond, ChunkSamples: 7})
	must(t, err)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, err := w.AddStream(info(fmt.Sprint(i), lsl.Int32, 1))
			for n := int32(1); n <= 500 && err == nil; n++ {
				err = errors.Join(s.PushInt32(float64(n), []int32{n}), s.ClockOffset(float64(n), 0))
			}
			if err = errors.Join(err, w.Flush(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	all.Go(func() { must(t, w.Close()) })
	must(t, w.Close())
	all.Wait()
	file, err := os.ReadFile(path)
	must(t, err)
	for _, s := range xdftest.MustParse(t, file).Streams {
		if len(s.Samples) != 500 || s.Samples[499].Values != "500" || len(s.Offsets) != 500 {
			t.Errorf("stream %s has %d samples", s.Header.Name, len(s.Samples))
		}
	}
}
