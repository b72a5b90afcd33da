package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrNotFinite says that a number is NaN or infinite, which JSON cannot carry.
var ErrNotFinite = errors.New("NaN or infinite: JSON cannot carry it")

// Encoder appends JSON to a buffer. The zero value is ready; the first error is kept and named.
type Encoder struct {
	buf  []byte
	path string
	err  error
}

// Reset starts a new message appended to buf.
func (e *Encoder) Reset(buf []byte) { *e = Encoder{buf: buf} }

// Result returns the buffer, or the first error with the name of the field.
func (e *Encoder) Result() ([]byte, error) {
	if e.err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, e.err)
	}
	return e.buf, nil
}

// Raw appends JSON text as it is.
func (e *Encoder) Raw(s string) { e.buf = append(e.buf, s...) }

// Uint appends the field with an unsigned integer. Key is the raw text before the value, such as `,"seq":`.
func (e *Encoder) Uint(key string, v uint64) { e.Raw(key); e.buf = strconv.AppendUint(e.buf, v, 10) }

// Int appends the field with an integer.
func (e *Encoder) Int(key string, v int64) { e.Raw(key); e.buf = strconv.AppendInt(e.buf, v, 10) }

// Bool appends the field with true or false.
func (e *Encoder) Bool(key string, v bool) { e.Raw(key); e.buf = strconv.AppendBool(e.buf, v) }

// String appends the field with a string.
func (e *Encoder) String(key, s string) {
	e.Raw(key)
	if plain(s) {
		e.buf = append(append(append(e.buf, '"'), s...), '"')
		return
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		e.Fail(key, err)
		return
	}
	e.buf = append(e.buf, quoted...)
}

// Float appends the field with v rounded to the given number of decimals (0 to 6).
func (e *Encoder) Float(key string, v float64, decimals int) {
	e.Raw(key)
	e.number(key, v, decimals)
}

// Fail keeps err, unless there is one already, for the field that key names.
func (e *Encoder) Fail(key string, err error) {
	if e.err == nil {
		e.err, e.path = err, fieldName(key)
	}
}

// Each appends an array of n values written by item; an error inside is named key[i].
func (e *Encoder) Each(key string, n int, item func(i int)) {
	if e.err != nil {
		return
	}
	e.Raw(key)
	e.buf = append(e.buf, '[')
	for i := range n {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if item(i); e.err != nil {
			e.path = join(fmt.Sprintf("%s[%d]", fieldName(key), i), e.path)
			return
		}
	}
	e.buf = append(e.buf, ']')
}

func (e *Encoder) number(key string, v float64, decimals int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.Fail(key, ErrNotFinite)
		return
	}
	e.buf = AppendFixed(e.buf, v, decimals)
}
