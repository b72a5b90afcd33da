package lsl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestReaderAsksForInfo(t *testing.T) {
	info := testInfo(t)
	info.Desc = Desc{Channels: []Channel{{Label: "x<y", Type: "PositionX", Unit: "meters"}, {Label: `"ü&'`}}}
	o := open(t, info, Options{LoopbackOnly: true})
	full := parseInfo(t, []byte(readAll(dial(t, o.TCPPort(), "LSL:fullinfo\r\n"))))
	if full.UID != o.UID() || len(full.Channels) != 2 || full.Channels[0].Label != "x<y" || full.Channels[0].Unit != "meters" ||
		full.Channels[1].Label != `"ü&'` {
		t.Errorf("full info %+v", full)
	}
	short := parseInfo(t, []byte(readAll(dial(t, o.TCPPort(), "LSL:shortinfo\r\ncount(desc/channels/channel)=2\r\n"))))
	if short.UID != o.UID() || short.Channels != nil {
		t.Errorf("short info %+v", short)
	}
	if got := readAll(dial(t, o.TCPPort(), "LSL:shortinfo\r\nname='other'\r\n")); got != "" {
		t.Errorf("a query that does not match was answered: %q", got)
	}
}

func TestFeedRequests(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true})
	uid := o.UID()
	for _, c := range []struct{ what, request, want string }{
		{"other stream", "LSL:streamfeed/110 " + newUID() + "\r\n\r\n", "LSL/110 404 Not found\r\n\r\n"},
		{"newer protocol", "LSL:streamfeed/200 " + uid + "\r\n\r\n", "LSL/110 505 Version not supported\r\n\r\n"},
		{"older protocol", "LSL:streamfeed/100 " + uid + "\r\n\r\n", ""},
		{"oldest protocol", "LSL:streamfeed\r\n360 0\r\n", ""},
		{"other value size", "LSL:streamfeed/110 " + uid + "\r\nValue-Size: 8\r\n\r\n", ""},
		{"value size that is no number", "LSL:streamfeed/110 " + uid + "\r\nValue-Size: x\r\n\r\n", ""},
		{"no IEEE floats", "LSL:streamfeed/110 " + uid + "\r\nHas-IEEE754-Floats: 0\r\n\r\n", ""},
		{"unknown command", "GET / HTTP/1.1\r\n\r\n", ""},
		{"endless line", "LSL:streamfeed/110 " + strings.Repeat("x", 20<<10), ""},
		{"endless headers", "LSL:streamfeed/110 " + uid + "\r\n" + strings.Repeat("a: b\r\n", 100), ""},
		{"negative buffer", "LSL:streamfeed/110 " + uid + "\r\nMax-Buffer-Length: -1\r\n\r\n", ""},
	} {
		if got := readAll(dial(t, o.TCPPort(), c.request)); got != c.want {
			t.Errorf("%s: answer %q, want %q", c.what, got, c.want)
		}
	}
	f := subscribe(t, o, 0)
	if _, _, err := f.next(); !errors.Is(err, io.EOF) {
		t.Errorf("a reader without a buffer: %v, want the feed to end behind the patterns", err)
	}
	if o.HaveConsumers() {
		t.Error("a refused reader counts as a consumer")
	}
}

func TestFeedHeaderForms(t *testing.T) {
	info := testInfo(t)
	info.Format = String
	o := open(t, info, Options{LoopbackOnly: true})
	// Keys in any case, comments, unknown keys, lines without a colon, bare line feeds, no uid; the value size of a
	// string is the reader's own affair.
	conn := dial(t, o.TCPPort(), "LSL:streamfeed/110\nVALUE-SIZE: 32 ; bytes\nmax-buffer-length:5\nwhatever\nX-New: 1\nhostname: h\n\n")
	eventually(t, "the reader is subscribed", o.HaveConsumers)
	eventually(t, "the reader is listed", func() bool { return len(o.Stats().Readers) == 1 })
	if s := statsOf(t, o, conn); s.Capacity != 5 || s.Host != "h" {
		t.Errorf("stats %+v", s)
	}
}

// TestFeedServesEveryReader: what is of no consequence for the stream refuses nobody, and every reader is told that numbers are little endian.
func TestFeedServesEveryReader(t *testing.T) {
	const header = "LSL/110 200 OK\r\nUID: %s\r\nByte-Order: 1234\r\nSuppress-Subnormals: 0\r\nData-Protocol-Version: 110\r\n\r\n"
	for what, c := range map[string]struct {
		format Format
		first  string // line; UID stands for the outlet's
		lines  string
	}{
		"big endian":                    {Float32, "110 UID", "Native-Byte-Order: 4321\r\nEndian-Performance: 100000\r\n"},
		"no subnormals":                 {Float32, "110 UID", "Supports-Subnormals: 0\r\n"},
		"no uid":                        {Float32, "110", ""},
		"integers without IEEE floats":  {Int16, "110 UID", "Has-IEEE754-Floats: 0\r\nValue-Size: 2\r\n"},
		"strings of any size":           {String, "110 UID", "Value-Size: 32\r\nHas-IEEE754-Floats: 0\r\n"},
		"a later version of this major": {Double, "115 UID", "Value-Size: 8\r\nData-Protocol-Version: 115\r\n"},
	} {
		info := testInfo(t)
		info.Format = c.format
		o := open(t, info, Options{LoopbackOnly: true})
		conn := dial(t, o.TCPPort(), "LSL:streamfeed/"+strings.ReplaceAll(c.first, "UID", o.UID())+"\r\n"+c.lines+"\r\n")
		want := fmt.Sprintf(header, o.UID())
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Errorf("%s: answer %q (%v), want %q", what, got, err, want)
		}
	}
}

// TestSilentConnectionsEnd: who sends no request, or one byte at a time, is not waited for.
func TestSilentConnectionsEnd(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true, requestTimeout: 500 * time.Millisecond})
	silent, slow := dial(t, o.TCPPort(), ""), dial(t, o.TCPPort(), "LSL:streamfeed/110\r\n")
	go func() {
		for _, err := slow.Write([]byte("x")); err == nil; _, err = slow.Write([]byte("x")) {
			time.Sleep(5 * time.Millisecond) // a reader that dawdles
		}
	}()
	if a, b := readAll(silent), readAll(slow); a != "" || b != "" {
		t.Errorf("answers %q and %q", a, b)
	}
	eventually(t, "the connections are forgotten", func() bool { return o.conns.count() == 0 })
	// The time is for the request alone: a reader that has its stream outlives those that ask for none after it.
	f := subscribe(t, o, 10)
	if got := readAll(dial(t, o.TCPPort(), "")); got != "" {
		t.Errorf("answer %q", got)
	}
	if err := o.Push(5, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if ts, _ := f.sample(); ts != 5 {
		t.Errorf("stamp %v", ts)
	}
}

func TestConnectionLimit(t *testing.T) {
	o := open(t, testInfo(t), Options{LoopbackOnly: true, MaxConnections: 2})
	first := subscribe(t, o, 10)
	subscribe(t, o, 10)
	if got := readAll(dial(t, o.TCPPort(), "LSL:fullinfo\r\n")); got != "" {
		t.Errorf("a third connection was served: %.40q", got)
	}
	if got := o.Stats().Refused; got != 1 {
		t.Errorf("refused %d, want 1", got)
	}
	_ = first.conn.Close()
	eventually(t, "the place is free again", func() bool { return readAll(dial(t, o.TCPPort(), "LSL:fullinfo\r\n")) != "" })
}

func TestCloseEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	o, err := NewOutlet(t.Context(), testInfo(t), Options{LoopbackOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	f := subscribe(t, o, 10)
	silent := dial(t, o.TCPPort(), "LSL:str") // never finishes its request
	waited := make(chan error)
	lonely := open(t, testInfo(t), Options{LoopbackOnly: true})
	go func() { waited <- lonely.WaitForConsumers(context.Background()) }()

	for range 2 {
		if err := errors.Join(o.Close(), lonely.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, _, err := f.next(); err == nil {
		t.Error("the feed goes on after Close")
	}
	if got := readAll(silent); got != "" {
		t.Errorf("the silent connection got %q", got)
	}
	if err := <-waited; !errors.Is(err, ErrClosed) {
		t.Errorf("waiting for consumers: %v", err)
	}
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestCloseDespiteStalledReader: a reader that takes nothing blocks neither the producer nor Close.
func TestCloseDespiteStalledReader(t *testing.T) {
	info := testInfo(t)
	info.ChannelCount, info.Format = 1, String
	o := open(t, info, Options{LoopbackOnly: true})
	stalled := subscribe(t, o, 5)
	value := strings.Repeat("x", 64<<10)
	for statsOf(t, o, stalled.conn).Dropped < 10 {
		if err := o.PushString(1, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestContextEndsOutlet(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o, err := NewOutlet(ctx, testInfo(t), Options{LoopbackOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	f := subscribe(t, o, 10)
	cancel()
	if _, _, err := f.next(); err == nil {
		t.Error("the feed goes on")
	}
	if _, err := NewOutlet(ctx, testInfo(t), Options{LoopbackOnly: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("new outlet with a cancelled context: %v", err)
	}
}

// TestReaderRecovers restarts an outlet with the same source id and does what a reader does: notice the loss, ask for
// the stream without its session, and move to the new uid.
func TestReaderRecovers(t *testing.T) {
	info := testInfo(t)
	o := open(t, info, Options{LoopbackOnly: true})
	f := subscribe(t, o, 10)
	_ = o.Close()
	if _, _, err := f.next(); err == nil {
		t.Fatal("no loss seen")
	}
	o2 := open(t, info, Options{LoopbackOnly: true})
	a := newAsker(t)
	a.ask(fmt.Sprintf("channel_count='2' and name='%s' and type='MoCap' and source_id='%s' and channel_format='float32' and nominal_srate='60'",
		info.Name, info.SourceID), loopback(o2.ServicePort()))
	_, found, _ := a.answer()
	if found.UID == o.UID() || found.UID != o2.UID() {
		t.Errorf("uid %s after %s", found.UID, o.UID())
	}
	stale := readAll(dial(t, o2.TCPPort(), feedRequestText(o.UID(), 10)))
	if stale != "LSL/110 404 Not found\r\n\r\n" {
		t.Errorf("the old uid got %q", stale)
	}
	g := subscribe(t, o2, 10)
	if err := o2.Push(9, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if ts, _ := g.sample(); ts != 9 {
		t.Errorf("stamp %v", ts)
	}
}
