package xdftest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
)

// cursor takes bytes from the front. Behind the end it gives zeros and says so.
type cursor struct {
	b   []byte
	cut bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.b, c.cut = nil, true
		return nil
	}
	taken := c.b[:n]
	c.b = c.b[n:]
	return taken
}

func (c *cursor) uint(width int) uint64 {
	var v uint64
	for i, b := range c.take(width) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) float() float64 { return math.Float64frombits(c.uint(8)) }

// length takes a length, which has to be in its shortest form.
func (c *cursor) length() uint64 {
	width := c.uint(1)
	n := c.uint(int(width))
	if !c.cut && (width != 1 && width != 4 && width != 8 || width == 4 && n < 1<<8 || width == 8 && n < 1<<32) {
		panic(fmt.Sprintf("length %d in %d bytes", n, width))
	}
	return n
}

func (c *cursor) value(format string) string {
	switch format {
	case "float32":
		return fmt.Sprint(math.Float32frombits(uint32(c.uint(4))))
	case "double64":
		return fmt.Sprint(c.float())
	case "int64":
		return fmt.Sprint(int64(c.uint(8)))
	case "int32":
		return fmt.Sprint(int32(c.uint(4)))
	case "int16":
		return fmt.Sprint(int16(c.uint(2)))
	case "int8":
		return fmt.Sprint(int8(c.uint(1)))
	case "string":
		return strconv.Quote(string(c.take(int(c.length()))))
	}
	panic("format " + format)
}

// document takes the rest, which has to be one XML document with the root info.
func (c *cursor) document(to any) error {
	text := c.take(len(c.b))
	if !bytes.HasPrefix(text, []byte(`<?xml version="1.0"?>`)) {
		return fmt.Errorf("no XML: %q", text)
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	var root struct {
		XMLName xml.Name `xml:"info"`
		Inner   []byte   `xml:",innerxml"`
	}
	if err := d.Decode(&root); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("%q behind the document", rest)
	}
	return xml.Unmarshal(text, to)
}
