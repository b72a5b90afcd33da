package wire

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

var scales = [...]float64{1, 10, 100, 1000, 1e4, 1e5, 1e6}

// AppendFixed appends v rounded half away from zero to the given number of decimals (0 to 6), without
// trailing zeros and without a negative zero. Values too large to hold that many decimals keep all their digits.
func AppendFixed(b []byte, v float64, decimals int) []byte {
	scaled := math.Round(v * scales[decimals])
	if math.Abs(scaled) >= 1<<53 {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	n := int64(scaled)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	scale := int64(scales[decimals])
	b = strconv.AppendInt(b, n/scale, 10)
	rest := n % scale
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for rest != 0 {
		scale /= 10
		b = append(b, byte('0'+rest/scale))
		rest %= scale
	}
	return b
}

// plain says that s needs no escaping between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fieldName takes the name out of a raw key such as `,"seq":`.
func fieldName(key string) string { return strings.Trim(key, `{,":`) }

// join makes the path of a field inside another: a.b, a[1], a.b[1].
func join(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}
