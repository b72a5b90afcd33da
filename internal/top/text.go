package top

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Style is how a piece of text stands out.
type Style int

// The styles.
const (
	Plain   Style = iota
	Heading       // of a table, or of the whole
	Chosen        // the selected row
	Warning       // slower than it could be
	Bad           // lost
	Faint         // what need not be read
)

// Span is a piece of a line.
type Span struct {
	Text  string
	Style Style
}

// Line is one line of the screen.
type Line []Span

func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// styled is the line with all its pieces in one style.
func (l Line) styled(s Style) Line { return Line{{Text: l.String(), Style: s}} }

// cut is the line within width, filled up with blanks.
func (l Line) cut(width int) Line {
	var out Line
	for _, s := range l {
		n := utf8.RuneCountInString(s.Text)
		if n > width {
			s.Text, n = clip(s.Text, width), width
		}
		if width -= n; n > 0 {
			out = append(out, s)
		}
	}
	if width > 0 {
		last := Plain
		if len(out) > 0 {
			last = out[len(out)-1].Style
		}
		out = append(out, Span{strings.Repeat(" ", width), last})
	}
	return out
}

// clip cuts a text to width characters, the last of which tells so.
func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	return string([]rune(s)[:width-1]) + "…"
}

// wrap breaks a text between words into lines of width, those after the first indented.
func wrap(s string, width int) []string {
	const indent = "  "
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			out, line = append(out, line), indent+word
		}
	}
	return append(out, line)
}

// column of a table.
type column struct {
	title string
	width int
	right bool
}

// row lays cells out in columns.
func row(columns []column, cells []Span) Line {
	var line Line
	for i, c := range columns {
		text := clip(cells[i].Text, c.width)
		gap := strings.Repeat(" ", c.width-utf8.RuneCountInString(text))
		if c.right {
			text = gap + text
		} else {
			text += gap
		}
		if i > 0 {
			line = append(line, Span{Text: " "})
		}
		line = append(line, Span{text, cells[i].Style})
	}
	return line
}

func heading(columns []column) Line {
	cells := make([]Span, len(columns))
	for i, c := range columns {
		cells[i].Text = c.title
	}
	return row(columns, cells).styled(Heading)
}

// number is "-" while it is not known.
func number(v float64, decimals int) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", decimals, v)
}

// size is as "830 MB" or "3.2 GB".
func size(bytes int64) string {
	if mb := float64(bytes) / 1e6; mb < 1000 {
		return fmt.Sprintf("%.0f MB", mb)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
}
