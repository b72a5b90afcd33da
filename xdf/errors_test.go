package xdf

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/lsl"
	"facetrack/xdf/xdftest"
)

func TestErrors(t *testing.T) {
	file, w, s := begin(t, Options{})
	irregular, err := w.AddStream(lsl.StreamInfo{Name: "irregular", ChannelCount: 1, Format: lsl.Float32, SourceID: "i"})
	must(t, err)
	must(t, irregular.Push(1, []float32{1}))
	one := []float32{1}
	seldom := info("slow", lsl.Float32, 1)
	seldom.NominalRate = math.SmallestNonzeroFloat64
	slow, err := w.AddStream(seldom)
	must(t, err)
	must(t, slow.Push(1, one))
	for what, c := range map[string]struct {
		err, want error
		names     string
	}{
		"channels":   {s.Push(1, []float32{1, 2}), ErrChannels, `"gaze" (id 1)`},
		"stamp 0":    {s.Push(0, one), ErrTimestamp, `"gaze" (id 1)`},
		"stamp NaN":  {s.Push(math.NaN(), one), ErrTimestamp, `"gaze" (id 1)`},
		"no rate":    {irregular.Push(Deduced, one), ErrTimestamp, `"irregular" (id 2)`},
		"too late":   {slow.Push(Deduced, one), ErrTimestamp, `"slow" (id 3)`},
		"offset Inf": {s.ClockOffset(1, math.Inf(1)), ErrTimestamp, `"gaze" (id 1)`},
		"info":       {second(w.AddStream(lsl.StreamInfo{Name: "bad"})), lsl.ErrInvalidInfo, `"bad"`},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.names) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	must(t, irregular.Close())
	must(t, irregular.Close())
	if err := irregular.Push(2, one); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "irregular") {
		t.Errorf("push into a closed stream: %v", err)
	}
	must(t, s.Push(1, one))
	must(t, w.Close())
	whole := bytes.Clone(file.Bytes())
	for what, err := range map[string]error{
		"push": s.Push(2, one), "offset": s.ClockOffset(1, 1), "add": second(w.AddStream(info("late", lsl.Int8, 1))),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if err := errors.Join(w.Close(), s.Close(), w.Flush(), w.Err()); err != nil || !bytes.Equal(whole, file.Bytes()) {
		t.Errorf("Close again: %v, %d bytes more", err, file.Len()-len(whole))
	}
	xdftest.MustParse(t, whole)
}

func second[T any](_ T, err error) error { return err }

func TestExistingFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.xdf")
	must(t, os.WriteFile(path, []byte("precious"), 0o600))
	if _, err := Create(path, Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Create over an existing file: %v", err)
	}
	if _, err := Create(filepath.Join(path, "a.xdf"), Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Create below a file: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "precious" {
		t.Errorf("file holds %q", got)
	}
}
