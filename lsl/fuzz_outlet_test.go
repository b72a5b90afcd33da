package lsl

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// These targets send their input to an outlet that runs. What it does with one input is over before the next comes, so that whatever an
// input leaves behind is found.

const tolerated = 8 // goroutines that come and go by themselves

// checkBounded fails when the outlet has grown.
func checkBounded(t *testing.T, o *Outlet, goroutines int) {
	t.Helper()
	o.matcher.mu.Lock()
	known := len(o.matcher.known)
	o.matcher.mu.Unlock()
	if known > cachedQueries {
		t.Fatalf("%d queries are remembered", known)
	}
	if n := runtime.NumGoroutine(); n > goroutines+tolerated {
		t.Fatalf("%d goroutines, %d at the beginning", n, goroutines)
	}
}

// impossible is a query that no stream satisfies, whatever the text says, unless it closes our parenthesis.
func impossible(text string) string {
	if !balanced(text) {
		text = ""
	}
	return "name='nobody' and (" + text + ")"
}

// FuzzOutletDatagram: a datagram is answered as the protocol says or not at all, and the outlet goes on.
func FuzzOutletDatagram(f *testing.F) {
	o := open(f, testInfo(f), Options{LoopbackOnly: true})
	a := newAsker(f)
	service, goroutines := loopback(o.ServicePort()), runtime.NumGoroutine()
	wave := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		a.t = t
		allowed := map[string]bool{}
		q, isQuery := parseDatagram(data).(infoQuery)
		if isQuery && len(data) < maxDatagram { // its answer must come here, not to any program of this host
			port := a.in.LocalAddr().(*net.UDPAddr).Port
			data = fmt.Appendf(nil, "LSL:shortinfo\r\n%s\r\n%d %s\r\n", q.query, port, q.id)
			allowed[q.id] = o.matcher.matches(q.query)
			a.ask(impossible(q.query), service)
		}
		if len(data) < 60<<10 { // what a socket takes
			if _, err := a.out.WriteToUDPAddrPort(data, service); err != nil {
				t.Fatal(err)
			}
		}
		last := a.ask("source_id='"+o.Info().SourceID+"'", service)
		for id := ""; id != last; {
			if id, _, _ = a.answer(); id != last && !allowed[id] {
				t.Fatalf("%q: answer to query %q", data, id)
			}
		}
		wave++
		checkProbes(t, a, data, o, fmt.Sprint("wave", wave))
		checkBounded(t, o, goroutines)
	})
}

// checkProbes asks for the time and looks at everything that comes up to the answer.
func checkProbes(t *testing.T, a *asker, data []byte, o *Outlet, wave string) {
	t.Helper()
	probe := "LSL:timedata\r\n" + wave + " 1\r\n"
	if _, err := a.out.WriteToUDPAddrPort([]byte(probe), loopback(o.ServicePort())); err != nil {
		t.Fatal(err)
	}
	_ = a.out.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 1<<10)
	for {
		n, _, err := a.out.ReadFromUDPAddrPort(buf)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(string(buf[:n]), " ")
		if len(words) != 5 || words[0] != "" {
			t.Fatalf("%q is answered with %q", data, buf[:n])
		}
		if words[1] == wave {
			return
		}
		if q, ok := parseDatagram(data).(timeQuery); !ok || words[1] != q.wave || words[2] != q.t0 {
			t.Fatalf("%q is answered with %q", data, buf[:n])
		}
	}
}

// FuzzOutletRequest: a TCP connection gets what it asks for or nothing, and is closed.
func FuzzOutletRequest(f *testing.F) {
	o := open(f, testInfo(f), Options{LoopbackOnly: true})
	goroutines := runtime.NumGoroutine()
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("UID")) { // an input cannot know it
			data = bytes.ReplaceAll(data, []byte("UID"), []byte(o.UID()))
		}
		got := exchange(t, o, data)
		req, err := parseRequest(data)
		if want := wanted(o, req, err); got != want {
			t.Fatalf("%q is answered with %q, want %q", data, got, want)
		}
		if req.kind == shortInfo {
			if got := exchange(t, o, []byte("LSL:shortinfo\r\n"+impossible(req.query)+"\r\n")); got != "" {
				t.Fatalf("an impossible query is answered with %q", got)
			}
		}
		eventually(t, "the connection is forgotten", func() bool { return o.conns.count() == 0 && !o.HaveConsumers() })
		checkBounded(t, o, goroutines)
	})
}

// exchange sends all and returns all that comes back.
func exchange(t *testing.T, o *Outlet, data []byte) string {
	t.Helper()
	conn := dial(t, o.TCPPort(), string(data))
	_ = conn.CloseWrite()
	got := readAll(conn)
	_ = conn.Close()
	return got
}

// wanted is the answer to a request.
func wanted(o *Outlet, req request, err error) string {
	if err != nil {
		return ""
	}
	switch req.kind {
	case fullInfo:
		return string(o.fullInfo)
	case shortInfo:
		if o.matcher.matches(req.query) {
			return string(o.shortInfo)
		}
		return ""
	}
	q := req.feed
	switch {
	case q.version >= 200:
		return "LSL/110 505 Version not supported\r\n\r\n"
	case q.uid != "" && q.uid != o.UID():
		return "LSL/110 404 Not found\r\n\r\n"
	case q.version < 110 || q.noIEEE754 || q.valueSize != 0 && q.valueSize != 4:
		return ""
	}
	patterns := "\x02\xc9\x76\xbe\x9f\x0c\x24\xfe\x40\x00\x00\x80\x40\x00\x00\xa0\xc0" + "\x02\xc9\x76\xbe\x9f\x0c\x24\xfe\x40\x00\x00\x00\x40\x00\x00\x40\xc0"
	return "LSL/110 200 OK\r\nUID: " + o.UID() + "\r\nByte-Order: 1234\r\nSuppress-Subnormals: 0\r\nData-Protocol-Version: 110\r\n\r\n" + patterns
}
