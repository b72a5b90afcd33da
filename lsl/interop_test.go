package lsl

import (
	"bufio"
	"context"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// libReader is a process that reads a stream with the real liblsl.
type libReader struct {
	t     *testing.T
	lines *bufio.Scanner
}

// needLibrary returns the paths of liblsl and gcc. Without them it skips the test and says so.
func needLibrary(t *testing.T) (lib, gcc string) {
	t.Helper()
	if lib = os.Getenv("LIBLSL"); lib == "" {
		t.Skip("SKIPPED: set LIBLSL=/path/to/liblsl.so to read with the real library; the tests named TestReader… read with this package's own")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED: needs gcc to build testdata/reader.c")
	}
	return lib, gcc
}

// startLibReader builds testdata/reader.c and runs it.
func startLibReader(t *testing.T, predicate, format string, channels int) *libReader {
	t.Helper()
	lib, gcc := needLibrary(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	t.Cleanup(cancel)
	bin := filepath.Join(t.TempDir(), "reader")
	out, err := exec.CommandContext(ctx, gcc, "-O1", "-Wall", "-Werror", "-o", bin, "testdata/reader.c", "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, bin, lib, predicate, format, strconv.Itoa(channels))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("liblsl says:\n%s", log.String())
		}
	})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 4<<20)
	return &libReader{t: t, lines: lines}
}

// next returns the rest of the next line that starts with the word.
func (r *libReader) next(word string) string {
	r.t.Helper()
	for r.lines.Scan() {
		first, rest, _ := strings.Cut(r.lines.Text(), " ")
		switch first {
		case word:
			return rest
		case "error":
			r.t.Fatalf("waiting for %q: %s", word, r.lines.Text())
		}
	}
	r.t.Fatalf("reader ended before %q: %v", word, r.lines.Err())
	return ""
}

// sample returns the next sample's stamp and values.
func (r *libReader) sample() (float64, []string) {
	r.t.Helper()
	words := strings.Fields(r.next("sample"))
	ts, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return ts, words[1:]
}

// keepPushing pushes a sample every few milliseconds until the returned function is called. Its stamps are whole
// seconds from first on, so that a reader can tell them apart.
func keepPushing(t *testing.T, o *Outlet, first float64, one func(ts float64) error) (stop func()) {
	t.Helper()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ts := first; ; {
			select {
			case <-quit:
				return
			case <-tick.C:
				if !o.HaveConsumers() {
					continue
				}
				if err := one(ts); err != nil {
					t.Errorf("push: %v", err)
					return
				}
				ts++
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// TestInteropLiblsl resolves, opens and reads a stream with the real library, and restarts the outlet under it. The
// npm package node-lsl carries a build of liblsl 1.12; newer ones are built from its sources.
func TestInteropLiblsl(t *testing.T) {
	info := testInfo(t)
	info.Desc = Desc{Channels: []Channel{{Label: "a<b>&", Type: "PositionX", Unit: "meters"}, {Label: "ü", Type: "Confidence", Unit: "normalized"}}}
	r := startLibReader(t, "source_id='"+info.SourceID+"' and count(//info/desc/channels/channel)=2", "f", 2)
	o := open(t, info, Options{LoopbackOnly: true})
	value := func(o *Outlet, base float32) func(float64) error {
		return func(ts float64) error { return o.Push(ts, []float32{base, float32(ts)}) }
	}
	stop := keepPushing(t, o, 1000, value(o, 1))

	t.Log("liblsl version", r.next("version"))
	r.next("resolved")
	if xml := r.next("xml"); !strings.Contains(xml, "<label>a&lt;b&gt;&amp;</label>") || !strings.Contains(xml, "ü") {
		t.Errorf("full info lost a label: %s", xml)
	}
	r.next("open")
	correction, err := strconv.ParseFloat(r.next("correction"), 64)
	if err != nil || math.Abs(correction) > 0.1 {
		t.Errorf("time correction is %v (%v), want about 0 on one host", correction, err)
	}
	t.Log("time correction", correction)
	first, values := r.sample()
	for want := first; want < first+50; want++ {
		if want > first {
			var ts float64
			if ts, values = r.sample(); ts != want {
				t.Fatalf("stamp %v, want %v", ts, want)
			}
		}
		if values[0] != "1" || values[1] != strconv.FormatFloat(want, 'f', -1, 32) {
			t.Fatalf("stamp %v carries %v", want, values)
		}
	}

	stop()
	lost := time.Now()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o2 := open(t, info, Options{LoopbackOnly: true})
	defer keepPushing(t, o2, 500000, value(o2, 2))()
	for {
		if ts, values := r.sample(); ts >= 500000 {
			if values[0] != "2" {
				t.Errorf("after the restart stamp %v carries %v", ts, values)
			}
			t.Logf("recovered %.1f s after the loss", time.Since(lost).Seconds())
			return
		}
	}
}

// TestInteropLiblslFormats reads each wire format with the real library.
func TestInteropLiblslFormats(t *testing.T) {
	needLibrary(t)
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		format Format
		letter string
		push   func(*Outlet, float64) error
		want   string
	}{
		{Double, "d", func(o *Outlet, ts float64) error { return o.PushDouble(ts, []float64{0.1, -3}) }, "0.10000000000000001 -3"},
		{Int64, "l", func(o *Outlet, ts float64) error { return o.PushInt64(ts, []int64{1 << 40, -5}) }, "1099511627776 -5"},
		{Int32, "i", func(o *Outlet, ts float64) error { return o.PushInt32(ts, []int32{math.MaxInt32, math.MinInt32}) }, "2147483647 -2147483648"},
		{Int16, "s", func(o *Outlet, ts float64) error { return o.PushInt16(ts, []int16{math.MaxInt16, math.MinInt16}) }, "32767 -32768"},
		{Int8, "c", func(o *Outlet, ts float64) error { return o.PushInt8(ts, []int8{math.MaxInt8, math.MinInt8}) }, "127 -128"},
		{String, "str", func(o *Outlet, ts float64) error { return o.PushString(ts, "grün", long) }, "grün " + long},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			t.Parallel()
			info := testInfo(t)
			info.Format, info.NominalRate = c.format, 0
			r := startLibReader(t, "source_id='"+info.SourceID+"'", c.letter, 2)
			o := open(t, info, Options{LoopbackOnly: true})
			defer keepPushing(t, o, 1000, func(ts float64) error { return c.push(o, ts) })()
			if ts, values := r.sample(); strings.Join(values, " ") != c.want || ts < 1000 {
				t.Errorf("stamp %v carries %v, want %v", ts, values, c.want)
			}
		})
	}
}
