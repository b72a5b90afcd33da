package lsl

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"unicode"
)

const maxDepth = 32

// Element is a node of the metadata tree: either text or children.
type Element struct {
	Name     string
	Text     string
	Children []*Element
}

// Leaf returns an element with text. The text is escaped when it is written.
func Leaf(name, text string) *Element { return &Element{Name: name, Text: text} }

// Node returns an element with children. The list is copied, the children are not.
func Node(name string, children ...*Element) *Element {
	return &Element{Name: name, Children: append([]*Element(nil), children...)}
}

// Add appends a child and returns that child.
func (e *Element) Add(child *Element) *Element {
	e.Children = append(e.Children, child)
	return child
}

// prepend puts a leaf in front of the children unless its text is empty.
func (e *Element) prepend(name, text string) *Element {
	if text != "" {
		e.Children = append([]*Element{Leaf(name, text)}, e.Children...)
	}
	return e
}

func (e *Element) validate(depth int) error {
	switch {
	case e == nil:
		return fmt.Errorf("%w: Desc has a nil element: remove it", ErrInvalidInfo)
	case depth > maxDepth:
		return fmt.Errorf("%w: Desc is deeper than %d levels: flatten it (or break the cycle)", ErrInvalidInfo, maxDepth)
	case !validName(e.Name):
		return fmt.Errorf("%w: %q is not an XML name: use letters, digits, '_', '-', '.', and start with a letter",
			ErrInvalidInfo, e.Name)
	case e.Text != "" && len(e.Children) > 0:
		return fmt.Errorf("%w: element %q has text and children: choose one", ErrInvalidInfo, e.Name)
	}
	for _, c := range e.Children {
		if err := c.validate(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func validName(name string) bool {
	for i, r := range name {
		first := r == '_' || unicode.IsLetter(r)
		if !first && (i == 0 || r != '-' && r != '.' && !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

// write appends the element as XML. Characters that XML cannot hold become U+FFFD.
func (e *Element) write(b *bytes.Buffer) {
	b.WriteString("<" + e.Name + ">")
	_ = xml.EscapeText(b, []byte(e.Text)) // a bytes.Buffer takes every write
	for _, c := range e.Children {
		c.write(b)
	}
	b.WriteString("</" + e.Name + ">")
}

// formatNumber writes the shortest decimal form without an exponent, which XPath 1.0 could not read.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
