package lsl

import (
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxQuery = 4 << 10 // bytes of a query
	maxToken = 64      // bytes of an id or number that is echoed
)

// infoQuery asks every outlet whose info matches to answer.
type infoQuery struct {
	query string
	port  uint16 // the port of the asker's address to which the answer goes
	id    string // echoed
}

// timeQuery asks for the outlet's clock.
type timeQuery struct {
	wave string // echoed
	t0   string // echoed
}

// parseDatagram returns an infoQuery, a timeQuery, or nil for anything else.
func parseDatagram(b []byte) any {
	method, rest, _ := strings.Cut(string(b), "\n")
	switch strings.TrimSpace(method) {
	case "LSL:shortinfo":
		return parseInfoQuery(rest)
	case "LSL:timedata":
		return parseTimeQuery(rest)
	default:
		return nil
	}
}

func parseInfoQuery(text string) any {
	query, rest, _ := strings.Cut(text, "\n")
	query = strings.TrimSpace(query)
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	if len(words) != 2 || len(words[1]) > maxToken || len(query) > maxQuery {
		return nil
	}
	port, err := strconv.ParseUint(words[0], 10, 16)
	if err != nil || port == 0 {
		return nil
	}
	return infoQuery{query: query, port: uint16(port), id: words[1]}
}

func parseTimeQuery(text string) any {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) != 2 || len(words[0]) > maxToken || len(words[1]) > maxToken {
		return nil
	}
	return timeQuery{wave: words[0], t0: words[1]}
}

// reply returns the answer to a matching query and where it goes.
func (q infoQuery) reply(from netip.Addr, shortInfo []byte) ([]byte, netip.AddrPort) {
	return append([]byte(q.id+"\r\n"), shortInfo...), netip.AddrPortFrom(from, q.port)
}

// reply returns the answer for a query that arrived at t1 seconds; now reads the clock as late as possible.
func (q timeQuery) reply(t1 float64, now func() float64) []byte {
	b := []byte(" " + q.wave + " " + q.t0 + " ")
	b = strconv.AppendFloat(b, t1, 'f', 9, 64)
	return strconv.AppendFloat(append(b, ' '), now(), 'f', 9, 64)
}
