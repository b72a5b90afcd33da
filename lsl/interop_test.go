package lsl

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Tests with the real liblsl, over loopback alone. scripts/liblsl.sh fetches a build of liblsl 1.12;
// LIBLSL names another.

const (
	found    = 30 * time.Second        // a stream that is there is found long before
	notFound = 1500 * time.Millisecond // three waves of queries
)

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

// TestInteropLiblsl resolves, opens and reads a stream with the real library, and restarts the outlet under it.
func TestInteropLiblsl(t *testing.T) {
	t.Parallel()
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
	checkFullInfo(t, o, r.next("xml"))
	r.next("open")
	checkCorrection(t, r)
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

// checkFullInfo compares what the library made of the full info with the outlet's.
func checkFullInfo(t *testing.T, o *Outlet, xml string) {
	t.Helper()
	got := parseInfo(t, []byte(xml))
	if got.UID != o.UID() || got.SourceID != o.Info().SourceID || got.DataPort != o.TCPPort() || len(got.Channels) != o.Info().ChannelCount {
		t.Fatalf("full info %+v", got)
	}
	for i, want := range o.Info().Desc.Channels {
		if c := got.Channels[i]; c.Label != want.Label || c.Unit != want.Unit || c.Type != want.Type {
			t.Errorf("channel %d is %+v, want %+v", i, c, want)
		}
	}
}

// checkCorrection: both ends read one clock, so that the correction is as small as the probes' way.
func checkCorrection(t *testing.T, r *libReader) {
	t.Helper()
	correction := r.number(r.next("correction"))
	if math.IsNaN(correction) || math.Abs(correction) > 0.1 {
		t.Errorf("time correction is %v, want about 0 on one host", correction)
	}
	t.Log("time correction", correction)
}

// TestInteropLiblslFinds resolves by predicates that people write.
func TestInteropLiblslFinds(t *testing.T) {
	t.Parallel()
	r := startReader(t, libCommand(t, onlyThisHost, nil))
	tag := newUID() // no other stream has it
	face, gaze := testInfo(t), testInfo(t)
	face.Name, gaze.Name = "face "+tag, "gaze "+tag
	gaze.Type = "Gaze"
	face.Desc = Desc{Channels: []Channel{{Label: "jawOpen", Unit: "normalized"}, {Label: "browDownLeft"}}}
	open(t, face, Options{LoopbackOnly: true})
	open(t, gaze, Options{LoopbackOnly: true})

	both := []string{face.SourceID, gaze.SourceID}
	slices.Sort(both)
	ours := "contains(name,'" + tag + "') and "
	for predicate, want := range map[string][]string{
		"source_id='" + face.SourceID + "'":                                  {face.SourceID},
		ours + "starts-with(name,'face')":                                    {face.SourceID},
		ours + "count(desc/channels/channel)=2":                              {face.SourceID},
		ours + "count(//info/desc/channels/channel)=2 and channel_count='2'": {face.SourceID},
		ours + "desc/channels/channel/label='jawOpen'":                       {face.SourceID},
		ours + "desc/channels/channel[label='jawOpen']/unit='normalized'":    {face.SourceID},
		ours + "not(type='Gaze')":                                            {face.SourceID},
		ours + "(type='Gaze' or type='MoCap') and nominal_srate>59":          both,
	} {
		got := r.find(len(want), found, predicate)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", predicate, got, want)
		}
	}
	for _, predicate := range []string{
		"source_id='" + face.SourceID + "' and type='EEG'",
		ours + "(count(desc/channels/channel)=3 or desc/channels/channel/label='nose' or starts-with(name,'Face'))",
		ours + "name=", // no XPath
	} {
		if got := r.find(1, notFound, predicate); len(got) != 0 {
			t.Errorf("%s: found %v", predicate, got)
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
		{Float32, "f", func(o *Outlet, ts float64) error { return o.Push(ts, []float32{-0.5, float32(math.NaN())}) }, "-0.5 nan"},
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
