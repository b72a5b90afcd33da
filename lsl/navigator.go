package lsl

import (
	"strings"

	"github.com/antchfx/xpath"
)

// treeNode is a node of the info document as XPath sees it: the document, an element, or a text.
type treeNode struct {
	kind     xpath.NodeType
	name     string
	text     string // of a text node
	parent   *treeNode
	index    int // among the parent's children
	children []*treeNode
}

// newTree returns the document whose only child is the given element.
func newTree(root *Element) *treeNode {
	doc := &treeNode{kind: xpath.RootNode}
	doc.add(root)
	return doc
}

func (n *treeNode) add(e *Element) {
	c := &treeNode{kind: xpath.ElementNode, name: e.Name, parent: n, index: len(n.children)}
	n.children = append(n.children, c)
	if e.Text != "" {
		c.children = []*treeNode{{kind: xpath.TextNode, text: e.Text, parent: c}}
	}
	for _, child := range e.Children {
		c.add(child)
	}
}

// navigator walks the tree for the XPath library. It panics with errBudget when all its copies together have made
// too many steps: a short query can ask for exponential work.
type navigator struct {
	node  *treeNode
	steps *int
}

func (n *navigator) pay(steps int) {
	if *n.steps -= steps; *n.steps < 0 {
		panic(errBudget)
	}
}

func (n *navigator) moveTo(node *treeNode) bool {
	n.pay(1)
	if node == nil {
		return false
	}
	n.node = node
	return true
}

func (n *navigator) sibling(offset int) *treeNode {
	if n.node.parent == nil {
		return nil
	}
	return n.node.parent.child(n.node.index + offset)
}

func (n *treeNode) child(i int) *treeNode {
	if i < 0 || i >= len(n.children) {
		return nil
	}
	return n.children[i]
}

func (n *navigator) NodeType() xpath.NodeType  { return n.node.kind }
func (n *navigator) LocalName() string         { return n.node.name }
func (n *navigator) Prefix() string            { return "" }
func (n *navigator) MoveToParent() bool        { return n.moveTo(n.node.parent) }
func (n *navigator) MoveToChild() bool         { return n.moveTo(n.node.child(0)) }
func (n *navigator) MoveToNext() bool          { return n.moveTo(n.sibling(1)) }
func (n *navigator) MoveToPrevious() bool      { return n.moveTo(n.sibling(-1)) }
func (n *navigator) MoveToNextAttribute() bool { return false }

// MoveToFirst moves to the first sibling and is false when already there.
func (n *navigator) MoveToFirst() bool {
	return n.node.index > 0 && n.moveTo(n.node.parent.child(0))
}

func (n *navigator) MoveToRoot() {
	for n.node.parent != nil {
		n.moveTo(n.node.parent)
	}
}

func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	return ok && n.moveTo(o.node)
}

func (n *navigator) Copy() xpath.NodeNavigator {
	n.pay(1)
	return &navigator{node: n.node, steps: n.steps}
}

// Value returns the text below the node.
func (n *navigator) Value() string {
	var b strings.Builder
	n.collect(n.node, &b)
	return b.String()
}

func (n *navigator) collect(node *treeNode, b *strings.Builder) {
	n.pay(1 + len(node.text)/16)
	b.WriteString(node.text)
	for _, c := range node.children {
		n.collect(c, b)
	}
}
