package lsl

import (
	"bufio"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A small LSL reader, written from the protocol and not from the outlet's code: it shares no encoder, parser or
// constant with it. Every wait has a generous deadline that only a failing test reaches.

const patience = 30 * time.Second

// wireInfo is what a reader takes from an info document.
type wireInfo struct {
	Name         string  `xml:"name"`
	Type         string  `xml:"type"`
	ChannelCount int     `xml:"channel_count"`
	Format       string  `xml:"channel_format"`
	SourceID     string  `xml:"source_id"`
	Rate         string  `xml:"nominal_srate"`
	Version      string  `xml:"version"`
	CreatedAt    float64 `xml:"created_at"`
	UID          string  `xml:"uid"`
	Session      string  `xml:"session_id"`
	Hostname     string  `xml:"hostname"`
	DataPort     int     `xml:"v4data_port"`
	ServicePort  int     `xml:"v4service_port"`
	DataPort6    int     `xml:"v6data_port"`
	ServicePort6 int     `xml:"v6service_port"`
	Channels     []struct {
		Label string `xml:"label"`
		Type  string `xml:"type"`
		Unit  string `xml:"unit"`
	} `xml:"desc>channels>channel"`
}

func parseInfo(t testing.TB, doc []byte) wireInfo {
	t.Helper()
	var info wireInfo
	if err := xml.Unmarshal(doc, &info); err != nil {
		t.Fatalf("info document: %v\n%s", err, doc)
	}
	return info
}

// asker sends datagrams from one socket and receives answers on another, as LSL readers do.
type asker struct {
	t       testing.TB
	out, in *net.UDPConn
	asked   int
}

func newAsker(t testing.TB) *asker {
	t.Helper()
	return &asker{t: t, out: listenLoopback(t), in: listenLoopback(t)}
}

func listenLoopback(t testing.TB) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (a *asker) ask(query string, to netip.AddrPort) (id string) {
	a.t.Helper()
	a.asked++
	id = fmt.Sprintf("id%d", a.asked)
	port := a.in.LocalAddr().(*net.UDPAddr).Port
	if _, err := a.out.WriteToUDPAddrPort(fmt.Appendf(nil, "LSL:shortinfo\r\n%s\r\n%d %s\r\n", query, port, id), to); err != nil {
		a.t.Fatalf("ask %v: %v", to, err)
	}
	return id
}

// answer returns the next answer: which query it is for, the stream, and who sent it.
func (a *asker) answer() (id string, info wireInfo, from netip.AddrPort) {
	a.t.Helper()
	_ = a.in.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 1<<16)
	n, from, err := a.in.ReadFromUDPAddrPort(buf)
	if err != nil {
		a.t.Fatalf("no answer: %v", err)
	}
	id, doc, _ := strings.Cut(string(buf[:n]), "\r\n")
	return id, parseInfo(a.t, []byte(doc)), from
}

func loopback(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
}

// dial opens a TCP connection and writes a request.
func dial(t testing.TB, port int, request string) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTCP("tcp4", nil, net.TCPAddrFromAddrPort(loopback(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write([]byte(request)) // the outlet may have hung up already: reading tells
	return conn
}

// readAll returns what comes until the outlet closes the connection, which a reset also does.
func readAll(conn net.Conn) string {
	b, _ := io.ReadAll(conn)
	return string(b)
}

// wireFeed is a subscribed reader.
type wireFeed struct {
	t        testing.TB
	conn     *net.TCPConn
	r        *bufio.Reader
	format   string
	channels int
	headers  map[string]string
}

func feedRequestText(uid string, maxBuffer int) string {
	return fmt.Sprintf("LSL:streamfeed/110 %s\r\nNative-Byte-Order: 1234\r\nEndian-Performance: 0\r\nHas-IEEE754-Floats: 1\r\n"+
		"Supports-Subnormals: 1\r\nData-Protocol-Version: 110\r\nMax-Buffer-Length: %d\r\nMax-Chunk-Length: 0\r\nHostname: tester\r\n\r\n", uid, maxBuffer)
}

// subscribe opens a feed and checks its header and its test patterns.
func subscribe(t testing.TB, o *Outlet, maxBuffer int) *wireFeed {
	t.Helper()
	conn := dial(t, o.TCPPort(), feedRequestText(o.UID(), maxBuffer))
	info := o.Info()
	f := &wireFeed{t: t, conn: conn, r: bufio.NewReader(conn), format: string(info.Format), channels: info.ChannelCount, headers: map[string]string{}}
	if status := f.line(); status != "LSL/110 200 OK\r\n" {
		t.Fatalf("status %q", status)
	}
	for line := f.line(); line != "\r\n"; line = f.line() {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), ": ")
		f.headers[key] = value
	}
	if f.headers["UID"] != o.UID() || f.headers["Byte-Order"] != "1234" || f.headers["Data-Protocol-Version"] != "110" {
		t.Fatalf("headers %v", f.headers)
	}
	for _, offset := range []int64{4, 2} {
		ts, values := f.sample()
		if ts != 123456.789 {
			t.Fatalf("pattern stamp %v", ts)
		}
		for k, v := range values {
			if want := patternValue(f.format, int64(k), offset); v != want {
				t.Fatalf("pattern %d, channel %d: %v, want %v", offset, k, v, want)
			}
		}
	}
	return f
}

func (f *wireFeed) line() string {
	f.t.Helper()
	s, err := f.r.ReadString('\n')
	if err != nil {
		f.t.Fatalf("feed header: %v", err)
	}
	return s
}

// patternValue is the value that the protocol demands.
func patternValue(format string, k, offset int64) any {
	sign := int64(1)
	if k%2 == 1 {
		sign = -1
	}
	switch format {
	case "float32":
		return float32(sign * (k + offset))
	case "double64":
		return float64(sign * (k + offset + 16777217))
	case "int64":
		return sign * (k + offset + 2147483649)
	case "int32":
		return int32(sign * ((k + offset + 65537) % 2147483647))
	case "int16":
		return int16(sign * ((k + offset + 257) % 32767))
	case "int8":
		return int8(sign * ((k + offset + 1) % 127))
	}
	return fmt.Sprint(sign * (k + 10))
}

func (f *wireFeed) sample() (float64, []any) {
	f.t.Helper()
	ts, values, err := f.next()
	if err != nil {
		f.t.Fatalf("sample: %v", err)
	}
	return ts, values
}

// next reads a sample; an error means that the feed ended.
func (f *wireFeed) next() (float64, []any, error) {
	tag, err := f.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if tag != 2 {
		return 0, nil, fmt.Errorf("tag %d", tag)
	}
	var bits uint64
	if err := binary.Read(f.r, binary.LittleEndian, &bits); err != nil {
		return 0, nil, err
	}
	values := make([]any, f.channels)
	for k := range values {
		if values[k], err = f.value(); err != nil {
			return 0, nil, err
		}
	}
	return math.Float64frombits(bits), values, nil
}

func (f *wireFeed) value() (any, error) {
	switch f.format {
	case "float32":
		return readLE[float32](f.r)
	case "double64":
		return readLE[float64](f.r)
	case "int64":
		return readLE[int64](f.r)
	case "int32":
		return readLE[int32](f.r)
	case "int16":
		return readLE[int16](f.r)
	case "int8":
		return readLE[int8](f.r)
	}
	width, err := f.r.ReadByte()
	if err != nil {
		return nil, err
	}
	var length uint64
	for i := range width {
		b, err := f.r.ReadByte()
		if err != nil {
			return nil, err
		}
		length |= uint64(b) << (8 * i)
	}
	text := make([]byte, length)
	_, err = io.ReadFull(f.r, text)
	return string(text), err
}

func readLE[T any](r io.Reader) (T, error) {
	var v T
	err := binary.Read(r, binary.LittleEndian, &v)
	return v, err
}

// eventually waits for a condition that some goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
