package wire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// decimal is a number as written: ±mantissa × 10^-places, exact unless inexact is set.
type decimal struct {
	text     []byte
	mantissa uint64
	places   int
	negative bool
	inexact  bool // an exponent, or more digits than the mantissa holds: use text
}

var powers64 = [...]float64{1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
var powers32 = [...]float32{1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10}

// Float reads a number. A quotient of two exact floats is correctly rounded, so the short way is exact too.
func (c *Cursor) Float() float64 {
	d := c.number()
	if d.inexact || d.mantissa >= 1<<53 || d.places >= len(powers64) {
		return c.parse(d.text, 64)
	}
	v := float64(d.mantissa) / powers64[d.places]
	if d.negative {
		return -v
	}
	return v
}

// Float32 reads a number of single precision.
func (c *Cursor) Float32() float32 {
	d := c.number()
	if d.inexact || d.mantissa >= 1<<24 || d.places >= len(powers32) {
		return float32(c.parse(d.text, 32))
	}
	v := float32(d.mantissa) / powers32[d.places]
	if d.negative {
		return -v
	}
	return v
}

func (c *Cursor) parse(text []byte, bits int) float64 {
	if c.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(text), bits)
	if err != nil {
		c.Fail(fmt.Errorf("%w: %s", ErrRange, short(text)))
		return 0
	}
	return v
}

// Uint reads an unsigned integer, written without fraction or exponent.
func (c *Cursor) Uint() uint64 {
	d := c.number()
	if c.err != nil {
		return 0
	}
	v, err := strconv.ParseUint(string(d.text), 10, 64)
	c.integer(d, err)
	return v
}

// Int reads an integer, written without fraction or exponent.
func (c *Cursor) Int() int64 {
	d := c.number()
	if c.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(string(d.text), 10, 64)
	c.integer(d, err)
	return v
}

func (c *Cursor) integer(d decimal, err error) {
	switch {
	case err == nil:
	case errors.Is(err, strconv.ErrRange) || d.negative && !d.inexact && d.places == 0:
		c.Fail(fmt.Errorf("%w: %s", ErrRange, short(d.text)))
	default:
		c.Fail(fmt.Errorf("%w: an integer, found %s", ErrType, short(d.text)))
	}
}

// Size reads an integer from 0 to 2³¹−1.
func (c *Cursor) Size() int {
	v := c.Int()
	if v < 0 || v > math.MaxInt32 {
		c.Fail(fmt.Errorf("%w: %d, 0 to %d expected", ErrRange, v, math.MaxInt32))
		return 0
	}
	return int(v)
}

// number reads a number by JSON's grammar.
func (c *Cursor) number() (d decimal) {
	if c.err != nil {
		return d
	}
	c.next()
	start := c.pos
	d.negative = c.take('-')
	first := c.pos
	c.digits(&d)
	if c.pos == first {
		c.unexpected(ErrType, "a number")
		return decimal{}
	}
	if c.data[first] == '0' && c.pos > first+1 {
		c.Fail(fmt.Errorf("%w: leading zero at byte %d", ErrSyntax, first))
		return decimal{}
	}
	if c.at('.') {
		c.pos++
		point := c.pos
		c.digits(&d)
		if d.places = c.pos - point; d.places == 0 {
			c.unexpected(ErrSyntax, "a digit")
		}
	}
	if c.at('e') || c.at('E') {
		c.exponent(&d)
	}
	if c.err != nil {
		return decimal{}
	}
	d.inexact = d.inexact || c.pos-first > 19
	d.text = c.data[start:c.pos]
	return d
}

func (c *Cursor) at(b byte) bool { return c.pos < len(c.data) && c.data[c.pos] == b }

func (c *Cursor) digits(d *decimal) {
	data, pos, m := c.data, c.pos, d.mantissa
	for pos < len(data) && data[pos]-'0' <= 9 {
		m = m*10 + uint64(data[pos]-'0')
		pos++
	}
	c.pos, d.mantissa = pos, m
}

func (c *Cursor) exponent(d *decimal) {
	d.inexact = true
	c.pos++
	if c.at('+') || c.at('-') {
		c.pos++
	}
	first := c.pos
	var ignored decimal
	if c.digits(&ignored); c.pos == first {
		c.unexpected(ErrSyntax, "a digit of an exponent")
	}
}
