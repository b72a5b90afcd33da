package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// Fields reads an object. For each field whose name is in names, read is called with its index and consumes
// the value; other fields are skipped. A name given twice is an error. It returns a bit set of the names seen.
func (c *Cursor) Fields(names []string, read func(i int)) (seen uint64) {
	return c.FieldsWhile(names, func(i int, _ uint64) bool {
		if i < 0 {
			c.Skip()
		} else {
			read(i)
		}
		return true
	})
}

// FieldsWhile is Fields with every field shown to read: i is -1 for a name that is not in names, seen is the
// set before this field. When read returns false, reading stops where it is.
func (c *Cursor) FieldsWhile(names []string, read func(i int, seen uint64) bool) (seen uint64) {
	if !c.expect('{', "an object") || c.take('}') {
		return 0
	}
	for guess := 0; c.err == nil; guess++ {
		name := c.key()
		guess = lookup(names, name, guess)
		if c.err != nil {
			return seen
		}
		if guess >= 0 && seen&(1<<guess) != 0 {
			c.FailAt(names[guess], ErrDuplicate)
			return seen
		}
		if !read(guess, seen) {
			return seen
		}
		if c.err != nil {
			c.path = join(short(name), c.path)
			return seen
		}
		if guess >= 0 {
			seen |= 1 << guess
		}
		if c.take('}') {
			return seen
		}
		c.expectSyntax(',', "',' or '}'")
	}
	return seen
}

// Require fails when a name whose bit is set in required is not in seen.
func (c *Cursor) Require(names []string, seen, required uint64) {
	if missing := required &^ seen; missing != 0 {
		c.FailAt(names[bits.TrailingZeros64(missing)], ErrMissing)
	}
}

// Elements reads an array of at most limit elements; item consumes the i-th. null stands for an empty array.
func (c *Cursor) Elements(limit int, item func(i int)) {
	if c.Null() || !c.expect('[', "an array") || c.take(']') {
		return
	}
	for i := 0; c.err == nil; i++ {
		if i == limit {
			c.Fail(fmt.Errorf("%w: at most %d", ErrTooMany, limit))
			return
		}
		if item(i); c.err != nil {
			c.path = join(fmt.Sprintf("[%d]", i), c.path)
			return
		}
		if c.take(']') {
			return
		}
		c.expectSyntax(',', "',' or ']'")
	}
}

// Skip passes over one value of any kind.
func (c *Cursor) Skip() { c.skip(0) }

func (c *Cursor) skip(depth int) {
	if depth > maxDepth {
		c.Fail(ErrTooDeep)
		return
	}
	switch c.next() {
	case '{':
		c.FieldsWhile(nil, func(int, uint64) bool { c.skip(depth + 1); return true })
	case '[':
		c.Elements(-1, func(int) { c.skip(depth + 1) })
	case '"':
		c.text()
	case 't', 'f':
		c.Bool()
	case 'n':
		c.Null()
	default:
		c.number()
	}
}

// Pass passes over one value and looks at no more of it than it takes to find its end: what is in arrays and objects is not checked.
func (c *Cursor) Pass() {
	if b := c.next(); b != '[' && b != '{' {
		c.Skip()
		return
	}
	for depth, rows := 0, true; c.err == nil; {
		c.pos += inside(c.data[c.pos:])
		if c.pos == len(c.data) {
			break
		}
		if rows && c.data[c.pos] == '[' {
			n, other := table(c.data[c.pos:])
			if c.pos += n; n > 0 && depth == 0 {
				return
			}
			if rows = !other; n > 0 {
				continue
			}
		}
		switch c.data[c.pos] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				c.pos++
				return
			}
		default:
			c.token()
			continue
		}
		c.pos++
	}
	c.unexpected(ErrSyntax, "the end of an array or object")
}

// table is the length of an array of arrays of numbers that data begins with, written without spaces as the points of a face are; 0 when
// it is something else. An array that only looks like one is other: whoever tried again at each bracket in it would read it over and over.
func table(data []byte) (n int, other bool) {
	if len(data) < 2 || data[1] != '[' {
		return 0, false
	}
	end := lastRow(data)
	if len(data)-end < 2 || data[end+1] != ']' || bytes.Count(data[:end], []byte("[")) != bytes.Count(data[:end], []byte("]"))+2 ||
		bytes.IndexByte(data[:end], '"') >= 0 {
		return 0, true
	}
	return end + 2, false
}

// lastRow is where the first ']' is behind which no further row begins, looked for at eight places at once.
func lastRow(data []byte) (at int) {
	const ones, low, high = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	for at+10 <= len(data) {
		here := (*[10]byte)(data[at:])
		bracket := binary.LittleEndian.Uint64(here[:8]) ^ ']'*ones
		ends := (binary.LittleEndian.Uint64(here[1:9]) ^ ','*ones) | (binary.LittleEndian.Uint64(here[2:]) ^ '['*ones) // unless 0
		// The first term has the highest bit of each byte that is 0, and sometimes of a 1 behind one.
		found := (bracket - ones) &^ bracket & (ends&low + low | ends) & high
		if found == 0 {
			at += 8
			continue
		}
		if at += bits.TrailingZeros64(found) / 8; data[at] == ']' {
			return at
		}
		at++
	}
	for at < len(data) && (data[at] != ']' || bytes.HasPrefix(data[at+1:], []byte(",["))) {
		at++
	}
	return at
}

// inside is how many bytes come before the next bracket or string.
func inside(data []byte) int {
	for i, b := range data {
		if structural[b] {
			return i
		}
	}
	return len(data)
}

var structural = [256]bool{'[': true, '{': true, ']': true, '}': true, '"': true}

// key reads the name of a field and the colon. The bytes are valid until the message is changed.
func (c *Cursor) key() []byte {
	name := c.text()
	c.expectSyntax(':', "':'")
	return name
}

func (c *Cursor) expectSyntax(b byte, what string) {
	if !c.take(b) {
		c.unexpected(ErrSyntax, what)
	}
}

// lookup finds name in names, first where it is expected.
func lookup(names []string, name []byte, guess int) int {
	if guess >= 0 && guess < len(names) && names[guess] == string(name) {
		return guess
	}
	for i, n := range names {
		if n == string(name) {
			return i
		}
	}
	return -1
}

// short is a name as an error shows it: a long or malformed one is cut.
func short(name []byte) string {
	const most = 40
	if len(name) > most {
		name = name[:most]
	}
	return strings.ToValidUTF8(string(name), "?")
}
