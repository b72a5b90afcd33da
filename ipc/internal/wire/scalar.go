package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// String reads a string of at most limit bytes.
func (c *Cursor) String(limit int) string {
	s := c.text()
	if len(s) > limit {
		c.Fail(fmt.Errorf("%w: at most %d bytes", ErrTooLong, limit))
		return ""
	}
	return string(s)
}

// Bool reads true or false.
func (c *Cursor) Bool() bool {
	switch {
	case c.literal("true"):
		return true
	case !c.literal("false"):
		c.unexpected(ErrType, "true or false")
	}
	return false
}

// Null consumes null if it is next; anything else is left alone.
func (c *Cursor) Null() bool { return c.literal("null") }

func (c *Cursor) literal(word string) bool {
	if c.err != nil || c.next() != word[0] || !bytes.HasPrefix(c.data[c.pos:], []byte(word)) {
		return false
	}
	c.pos += len(word)
	return true
}

// text reads a string and resolves its escapes.
func (c *Cursor) text() []byte {
	token, simple := c.token()
	if c.err != nil {
		return nil
	}
	if simple {
		return token[1 : len(token)-1]
	}
	var s string
	if err := json.Unmarshal(token, &s); err != nil {
		c.Fail(fmt.Errorf("%w: %w", ErrSyntax, err))
		return nil
	}
	return []byte(s)
}

// token passes over a string, quotes included; simple says that it holds no escape and only ASCII.
// What is not simple has yet to be checked.
func (c *Cursor) token() (token []byte, simple bool) {
	if !c.expect('"', "a string") {
		return nil, false
	}
	start := c.pos - 1
	simple = true
	for ; c.pos < len(c.data); c.pos++ {
		switch b := c.data[c.pos]; {
		case b == '"':
			c.pos++
			return c.data[start:c.pos], simple
		case b == '\\':
			simple = false
			c.pos++
		case b >= utf8.RuneSelf:
			simple = false
		case b < ' ':
			c.unexpected(ErrSyntax, "no control character")
			return nil, false
		}
	}
	c.pos = len(c.data)
	c.unexpected(ErrSyntax, "'\"'")
	return nil, false
}
