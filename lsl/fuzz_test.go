package lsl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// The corpora are in testdata/fuzz.

func parseRequest(data []byte) (request, error) {
	return readRequest(bufio.NewReaderSize(bytes.NewReader(data), maxLine))
}

// FuzzRequest: whatever arrives on TCP is a request, written again in the plainest form the same request, or refused.
func FuzzRequest(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := parseRequest(data)
		if err != nil {
			if !errors.Is(err, errRequest) && !errors.Is(err, errUnsupported) {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		again, err := parseRequest(writeRequest(req))
		if err != nil || again != req {
			t.Fatalf("%+v became %+v (%v)", req, again, err)
		}
		if req.feed.maxBuffer < 0 || len(req.query) > maxLine {
			t.Fatalf("accepted %+v", req)
		}
	})
}

func writeRequest(req request) []byte {
	switch req.kind {
	case shortInfo:
		return []byte("LSL:shortinfo\r\n" + req.query + "\r\n")
	case fullInfo:
		return []byte("LSL:fullinfo\r\n")
	}
	f := req.feed
	b := fmt.Appendf(nil, "LSL:streamfeed/%d %s\r\nValue-Size: %d\r\nHostname: %s\r\n", f.version, f.uid, f.valueSize, f.hostname)
	if f.noIEEE754 {
		b = append(b, "Has-IEEE754-Floats: 0\r\n"...)
	}
	if f.hasMaxBuffer {
		b = fmt.Appendf(b, "Max-Buffer-Length: %d\r\n", f.maxBuffer)
	}
	return append(b, "\r\n"...)
}

// FuzzDatagram: an accepted datagram is answered to the asker, with its id on the first line and bounded in size.
func FuzzDatagram(f *testing.F) {
	from := netip.MustParseAddr("127.0.0.1")
	f.Fuzz(func(t *testing.T, data []byte) {
		switch q := parseDatagram(data).(type) {
		case infoQuery:
			reply, to := q.reply(from, []byte("<info/>"))
			if string(reply) != q.id+"\r\n<info/>" || to.Addr() != from || to.Port() == 0 || strings.ContainsAny(q.id, " \r\n") {
				t.Fatalf("%+v answered with %q to %v", q, reply, to)
			}
			if len(q.id) > maxToken || len(q.query) > maxQuery {
				t.Fatalf("accepted %+v", q)
			}
			again := fmt.Appendf(nil, "LSL:shortinfo\r\n%s\r\n%d %s\r\n", q.query, q.port, q.id)
			if parseDatagram(again) != q {
				t.Fatalf("%+v became %+v", q, parseDatagram(again))
			}
		case timeQuery:
			reply := string(q.reply(1.5, func() float64 { return 1.75 }))
			if reply != " "+q.wave+" "+q.t0+" 1.500000000 1.750000000" || len(reply) > 4*maxToken {
				t.Fatalf("%+v answered with %q", q, reply)
			}
		}
	})
}

// FuzzQuery: no query crashes the evaluator, and none holds together with its opposite.
func FuzzQuery(f *testing.F) {
	m := newMatcher(queryInfo())
	f.Fuzz(func(t *testing.T, query string) {
		if query != "" && m.matches(query) && m.matches("not("+query+")") {
			t.Fatalf("%q and its opposite match", query)
		}
	})
}
