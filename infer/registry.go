package infer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrNoBackend says that the wanted backend is not in this binary.
var ErrNoBackend = errors.New("infer: backend not available")

// ErrBadInput says that Run was called with a wrong batch size or with buffers of a wrong size or kind.
var ErrBadInput = errors.New("infer: wrong buffers")

// ErrClosed says that the session has been closed.
var ErrClosed = errors.New("infer: session is closed")

// OpenFunc makes a session for a validated graph. It must not change the graph, and may keep its constants.
type OpenFunc func(*Graph, Options) (Session, error)

type backend struct {
	name string
	rank int
	open OpenFunc
}

var registry struct {
	sync.RWMutex
	backends []backend // highest rank first
}

// Register adds a backend, usually from an init function. "auto" takes the backend of the highest rank.
// A name that is empty, "auto" or already taken is a programming error and panics.
func Register(name string, rank int, open OpenFunc) {
	registry.Lock()
	defer registry.Unlock()
	taken := slices.ContainsFunc(registry.backends, func(b backend) bool { return b.name == name })
	if name == "" || name == "auto" || taken || open == nil {
		panic(fmt.Sprintf("infer: backend %q cannot be registered: the name is reserved or taken, or it has no open function", name))
	}
	registry.backends = append(registry.backends, backend{name, rank, open})
	slices.SortStableFunc(registry.backends, func(a, b backend) int { return b.rank - a.rank })
}

// Backends lists the registered backends, highest rank first.
func Backends() []string {
	registry.RLock()
	defer registry.RUnlock()
	names := make([]string, len(registry.backends))
	for i, b := range registry.backends {
		names[i] = b.name
	}
	return names
}

// Open validates g, optimises a copy of it and opens that on the backend that opts names.
// The caller keeps g, which is not changed, and closes the session.
func Open(g *Graph, opts Options) (Session, error) {
	b, err := lookup(opts.Backend)
	if err != nil {
		return nil, err
	}
	if opts.Threads < 0 || opts.MaxBatch < 0 {
		return nil, fmt.Errorf("%w: threads %d and largest batch %d must not be negative", ErrBadInput, opts.Threads, opts.MaxBatch)
	}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if !opts.NoOptimize {
		g = g.Clone()
		if err := Optimize(g); err != nil {
			return nil, err
		}
	}
	s, err := b.open(g, opts)
	if err != nil {
		return nil, fmt.Errorf("infer: open %q on backend %q: %w", g.Name, b.name, err)
	}
	return s, nil
}

func lookup(name string) (backend, error) {
	registry.RLock()
	defer registry.RUnlock()
	if len(registry.backends) == 0 {
		return backend{}, fmt.Errorf("%w: none is registered; import facetrack/infer/backends", ErrNoBackend)
	}
	if name == "" || name == "auto" {
		return registry.backends[0], nil
	}
	have := make([]string, 0, len(registry.backends))
	for _, b := range registry.backends {
		if b.name == name {
			return b, nil
		}
		have = append(have, b.name)
	}
	return backend{}, fmt.Errorf("%w: %q; this binary has: auto, %s", ErrNoBackend, name, strings.Join(have, ", "))
}
