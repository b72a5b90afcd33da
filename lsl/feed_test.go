package lsl

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
)

// TestPatternVector checks the sequence that the protocol gives for two float32 channels, bit for bit.
func TestPatternVector(t *testing.T) {
	want, err := hex.DecodeString("02c976be9f0c24fe40000080400000a0c0" + "02c976be9f0c24fe4000000040000040c0")
	if err != nil {
		t.Fatal(err)
	}
	if got := appendPatterns(nil, Float32, 2); !bytes.Equal(got, want) {
		t.Errorf("patterns\n% x, want\n% x", got, want)
	}
}

// TestPatternValues checks hand-computed first samples of the other formats; int8 also where the modulus wraps.
func TestPatternValues(t *testing.T) {
	for _, c := range []struct {
		format Format
		want   string // two channels, little endian
	}{
		{Double, "0000005000007041" + "00000060000070c1"}, // 16777221, -16777222
		{Int64, "0500008000000000" + "faffff7fffffffff"},  // 2147483653, -2147483654
		{Int32, "05000100" + "fafffeff"},                  // 65541, -65542
		{Int16, "0501" + "fafe"},                          // 261, -262
		{Int8, "05" + "fa"},                               // 5, -6
		{String, "01023130" + "01032d3131"},               // "10", "-11"
	} {
		if got := hex.EncodeToString(appendPattern(nil, c.format, 2, 4)); got != c.want {
			t.Errorf("%s: %s, want %s", c.format, got, c.want)
		}
	}
	got := appendPattern(nil, Int8, 124, 4)
	if want := []byte{0x82, 0, 0xff}; !bytes.Equal(got[121:], want) {
		t.Errorf("int8 channels 121 to 123: %v, want -126 0 -1 as %v", got[121:], want)
	}
}

func TestReaderReceivesEveryFormat(t *testing.T) {
	long := strings.Repeat("é", 200) // 400 bytes: a four-byte length
	for _, c := range []struct {
		format Format
		push   func(*Outlet, float64) error
		want   []any
	}{
		{Float32, func(o *Outlet, ts float64) error { return o.Push(ts, []float32{-0.5, math.MaxFloat32}) }, []any{float32(-0.5), float32(math.MaxFloat32)}},
		{Double, func(o *Outlet, ts float64) error { return o.PushDouble(ts, []float64{0.1, math.Inf(-1)}) }, []any{0.1, math.Inf(-1)}},
		{Int64, func(o *Outlet, ts float64) error { return o.PushInt64(ts, []int64{math.MinInt64, 1}) }, []any{int64(math.MinInt64), int64(1)}},
		{Int32, func(o *Outlet, ts float64) error { return o.PushInt32(ts, []int32{math.MinInt32, 1}) }, []any{int32(math.MinInt32), int32(1)}},
		{Int16, func(o *Outlet, ts float64) error { return o.PushInt16(ts, []int16{math.MinInt16, 1}) }, []any{int16(math.MinInt16), int16(1)}},
		{Int8, func(o *Outlet, ts float64) error { return o.PushInt8(ts, []int8{math.MinInt8, 1}) }, []any{int8(math.MinInt8), int8(1)}},
		{String, func(o *Outlet, ts float64) error { return o.PushString(ts, "", long) }, []any{"", long}},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			info := testInfo(t)
			info.Format = c.format
			o := open(t, info, Options{LoopbackOnly: true})
			f := subscribe(t, o, 360)
			for ts := 41.5; ts < 44; ts++ {
				if err := c.push(o, ts); err != nil {
					t.Fatal(err)
				}
			}
			for ts := 41.5; ts < 44; ts++ {
				if got, values := f.sample(); got != ts || fmt.Sprint(values) != fmt.Sprint(c.want) {
					t.Errorf("stamp %v carries %v, want %v at %v", got, values, c.want, ts)
				}
			}
		})
	}
}

func TestReaderReceivesNaN(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	f := subscribe(t, o, 360)
	if err := o.Push(1, []float32{float32(math.NaN()), 2}); err != nil {
		t.Fatal(err)
	}
	if _, values := f.sample(); values[0] == values[0] || values[1] != float32(2) {
		t.Errorf("values %v, want NaN 2", values)
	}
}

func TestPushRefuses(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	f := subscribe(t, o, 360)
	two := []float32{1, 2}
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"stamp 0", o.Push(0, two), ErrTimestamp},
		{"stamp -1", o.Push(-1, two), ErrTimestamp},
		{"stamp NaN", o.Push(math.NaN(), two), ErrTimestamp},
		{"stamp infinite", o.Push(math.Inf(1), two), ErrTimestamp},
		{"one value", o.Push(1, two[:1]), ErrChannels},
		{"other format", o.PushDouble(1, []float64{1, 2}), ErrFormat},
		{"string", o.PushString(1, "a", "b"), ErrFormat},
		{"good", o.Push(7, two), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.err, c.want)
		}
	}
	if ts, _ := f.sample(); ts != 7 {
		t.Errorf("a refused sample was sent: stamp %v", ts)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := o.Push(8, two); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestConsumersComeAndGo(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	if o.HaveConsumers() {
		t.Error("consumers before any came")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.WaitForConsumers(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("wait with a cancelled context: %v", err)
	}
	if err := o.Push(1, []float32{1, 1}); err != nil {
		t.Errorf("push without consumers: %v", err)
	}
	f := subscribe(t, o, 50)
	if err := o.WaitForConsumers(t.Context()); err != nil || !o.HaveConsumers() {
		t.Errorf("wait with a consumer: %v", err)
	}
	if err := o.Push(2, []float32{2, 2}); err != nil {
		t.Fatal(err)
	}
	if ts, _ := f.sample(); ts != 2 {
		t.Errorf("first stamp %v: a reader must not see what came before it", ts)
	}
	readers := o.Stats().Readers
	if len(readers) != 1 || readers[0].Host != "tester" || readers[0].Capacity != 50 || readers[0].Sent != 1 ||
		readers[0].Addr.String() != f.conn.LocalAddr().String() {
		t.Errorf("stats %+v", readers)
	}
	_ = f.conn.Close()
	eventually(t, "the outlet notices that the reader left", func() bool { return !o.HaveConsumers() && len(o.Stats().Readers) == 0 })
}

// TestSlowReaderLosesOldest stops reading, so that samples pile up: the producer goes on, and the reader finds the
// newest samples when it resumes.
func TestSlowReaderLosesOldest(t *testing.T) {
	info := testInfo(t)
	info.ChannelCount, info.Format = 1, String
	o := open(t, info, Options{LoopbackOnly: true})
	slow, fast := subscribe(t, o, 20), subscribe(t, o, 1000)
	value := strings.Repeat("x", 32<<10) // so that the kernel's buffers are soon full
	pushed := 0
	for dropped := 0; dropped < 30; dropped = statsOf(t, o, slow.conn).Dropped {
		pushed++
		if err := o.PushString(float64(pushed), value); err != nil {
			t.Fatal(err)
		}
		if ts, _ := fast.sample(); ts != float64(pushed) {
			t.Fatalf("the fast reader got %v, want %d", ts, pushed)
		}
	}
	last, received := 0.0, 0
	for last < float64(pushed) {
		ts, _ := slow.sample()
		if ts <= last {
			t.Fatalf("stamp %v after %v", ts, last)
		}
		last, received = ts, received+1
	}
	s := statsOf(t, o, slow.conn)
	if received+s.Dropped != pushed || s.Sent != received || s.Queued != 0 {
		t.Errorf("pushed %d, received %d, stats %+v", pushed, received, s)
	}
	if s := statsOf(t, o, fast.conn); s.Dropped != 0 || s.Sent != pushed {
		t.Errorf("the fast reader suffered: %+v", s)
	}
}

func statsOf(t *testing.T, o *Outlet, conn net.Conn) ReaderStats {
	t.Helper()
	for _, r := range o.Stats().Readers {
		if r.Addr.String() == conn.LocalAddr().String() {
			return r
		}
	}
	t.Fatalf("no reader %v", conn.LocalAddr())
	return ReaderStats{}
}

func TestManyProducersAndReaders(t *testing.T) {
	const producers, samples = 4, 100
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	feeds := []*wireFeed{subscribe(t, o, 1000), subscribe(t, o, 1000), subscribe(t, o, 1000)}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for n := range samples {
				if err := o.Push(float64(n+1), []float32{float32(p), float32(n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var order []string
	for i, f := range feeds {
		next := [producers]int{}
		var mine []string
		for range producers * samples {
			ts, v := f.sample()
			p, n := int(v[0].(float32)), int(v[1].(float32))
			if n != next[p] || ts != float64(n+1) {
				t.Fatalf("reader %d: producer %d sample %d at %v, want %d", i, p, n, ts, next[p])
			}
			next[p]++
			mine = append(mine, fmt.Sprint(p, n))
		}
		if order == nil {
			order = mine
		}
		if strings.Join(mine, ";") != strings.Join(order, ";") {
			t.Errorf("reader %d saw another order", i)
		}
	}
}

// A sample that comes late, or says the same as the one before, is a sample: readers get every one, in the order of the pushes.
func TestLateAndEqualSamplesAreSent(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	f := subscribe(t, o, 360)
	stamps := []float64{10, 10, 10, 9.5, 11, 10.25, 11}
	for _, ts := range stamps {
		if err := o.Push(ts, []float32{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range stamps {
		if ts, values := f.sample(); ts != want || values[0] != float32(1) || values[1] != float32(2) {
			t.Errorf("sample %d is %v at %v, want it at %v", i, values, ts, want)
		}
	}
}
