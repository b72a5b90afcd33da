package lsl

import (
	"fmt"
	"sync"

	"github.com/antchfx/xpath"
)

const (
	cachedQueries = 100
	queryBudget   = 3_000_000 // navigation steps: a union over a face mesh takes 2.2 million; more is not asked honestly
)

// matcher answers whether a stream's info satisfies an XPath 1.0 query. One query runs at a time, so that queries
// from the network take one core at most.
type matcher struct {
	root *treeNode

	mu    sync.Mutex
	known map[string]bool
}

func newMatcher(info *Element) *matcher {
	return &matcher{root: newTree(info), known: map[string]bool{}}
}

// matches is false for a query that is malformed or takes too many steps. The empty query matches.
func (m *matcher) matches(query string) bool {
	if query == "" {
		return true
	}
	if len(query) > maxQuery {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if result, ok := m.known[query]; ok {
		return result
	}
	result, err := evaluate(m.root, query)
	if len(m.known) >= cachedQueries {
		clear(m.known)
	}
	m.known[query] = err == nil && result
	return m.known[query]
}

// evaluate runs the query with <info> as its context node. The XPath library panics on some malformed queries.
func evaluate(root *treeNode, query string) (result bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = false, fmt.Errorf("%w: query %.60q: %v", errRequest, query, p)
		}
	}()
	// The library ignores what follows a complete expression, unless a parenthesis has to close.
	expr, err := xpath.Compile("boolean(" + query + ")")
	if err == nil && !balanced(query) {
		err = errRequest
	}
	if err != nil {
		return false, fmt.Errorf("%w: query %.60q: %w", errRequest, query, err)
	}
	steps := queryBudget
	nav := &navigator{node: root, steps: &steps}
	nav.MoveToChild()
	result, _ = expr.Evaluate(nav).(bool)
	return result, nil
}

// balanced is false when the query closes a parenthesis that it did not open, outside of quoted text.
func balanced(query string) bool {
	depth, quote := 0, rune(0)
	for _, r := range query {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
