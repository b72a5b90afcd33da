package source

import (
	"slices"
	"strings"
)

// sortNatural sorts names so that frame2 comes before frame10.
func sortNatural(names []string) { slices.SortFunc(names, compareNatural) }

// compareNatural compares runs of digits by value and everything else byte by byte. Equal values with
// different leading zeros fall back to plain order, so that the order is total.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digitRun(x), digitRun(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if len(nx) != len(ny) {
			return len(nx) - len(ny)
		}
		if c := strings.Compare(nx, ny); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func digitRun(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
