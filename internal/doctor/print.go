package doctor

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Print writes the report for people: a line a check, the cure beneath what is wrong, and the transport.
func (r Report) Print(out io.Writer) error {
	width := 0
	for _, c := range r.Checks {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", mark(c.Status), width, c.Name, c.Seen)
		if c.Cure != "" {
			fmt.Fprintf(&b, "%*s→ %s\n", width+8, "", c.Cure)
		}
	}
	fmt.Fprintf(&b, "\nTransport on this machine: %s (%s).\n", r.Transport, r.Reason)
	_, err := io.WriteString(out, b.String())
	return err
}

func mark(s Status) string {
	switch s {
	case Fail:
		return "FAIL"
	case Skipped:
		return "-"
	}
	return string(s)
}
