package lsl

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
)

const protocolVersion = 110 // wire protocol 1.10

// identity is what an outlet adds to its StreamInfo when it starts.
type identity struct {
	uid         string  // new for each start
	createdAt   float64 // seconds on the LSL clock
	hostname    string
	dataPort    int // TCP
	servicePort int // UDP
}

// document returns the stream's info tree in the order in which readers expect it.
func document(s StreamInfo, id identity, desc *Element) *Element {
	return Node("info",
		Leaf("name", s.Name),
		Leaf("type", s.Type),
		Leaf("channel_count", strconv.Itoa(s.ChannelCount)),
		Leaf("channel_format", string(s.Format)),
		Leaf("source_id", s.SourceID),
		// The shortest form: older readers compare this field as text when they recover.
		Leaf("nominal_srate", formatNumber(s.NominalRate)),
		Leaf("version", "1.10"),
		Leaf("created_at", strconv.FormatFloat(id.createdAt, 'f', 9, 64)),
		Leaf("uid", id.uid),
		Leaf("session_id", s.SessionID),
		Leaf("hostname", id.hostname),
		Leaf("v4address", ""),
		Leaf("v4data_port", strconv.Itoa(id.dataPort)),
		Leaf("v4service_port", strconv.Itoa(id.servicePort)),
		// Readers take a stream without these three fields for invalid; 0 says "no IPv6".
		Leaf("v6address", ""),
		Leaf("v6data_port", "0"),
		Leaf("v6service_port", "0"),
		desc,
	)
}

// XML returns the document that describes the stream, as a reader gets it from an outlet and as recordings keep it. What an
// outlet adds when it starts is empty or 0 in it: uid, created_at, hostname and ports. It fails with ErrInvalidInfo.
func (s StreamInfo) XML() ([]byte, error) {
	if s.SessionID == "" {
		s.SessionID = DefaultSession
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return render(document(s, identity{}, s.Desc.element())), nil
}

func render(e *Element) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0"?>` + "\n")
	e.write(&b)
	b.WriteByte('\n')
	return b.Bytes()
}

// newUID returns a random UUID (version 4) in lower case: readers lower-case what they compare it with.
func newUID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // documented never to fail
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
