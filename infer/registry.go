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

// ErrUnavailable says that a backend of this binary cannot run here: "auto" goes on to the next one.
var ErrUnavailable = errors.New("infer: backend cannot run here")

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

// Register adds a backend, usually from an init function. "auto" takes the backend of the highest rank that can run here.
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

// Open validates g, optimises a copy of it and opens that on the backend that opts names; "auto" takes the first that can
// run here. The caller keeps g, which is not changed, and closes the session.
func Open(g *Graph, opts Options) (Session, error) {
	backends, err := lookup(opts.Backend)
	if err != nil {
		return nil, err
	}
	if opts.Threads < 0 || opts.MaxBatch < 0 {
		return nil, fmt.Errorf("%w: threads %d and largest batch %d must not be negative", ErrBadInput, opts.Threads, opts.MaxBatch)
	}
	if err := checkPrecision(opts.Precision); err != nil {
		return nil, err
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
	return openFirst(backends, g, opts)
}

func openFirst(backends []backend, g *Graph, opts Options) (Session, error) {
	var all []error
	for _, b := range backends {
		s, err := b.open(g, opts)
		if err == nil {
			return s, nil
		}
		all = append(all, fmt.Errorf("infer: open %q on backend %q: %w", g.Name, b.name, err))
		if !errors.Is(err, ErrUnavailable) {
			break
		}
		if opts.Log != nil && len(all) < len(backends) {
			opts.Log.Info("backend passed over", "network", g.Name, "backend", b.name, "reason", err)
		}
	}
	return nil, errors.Join(all...)
}

// lookup gives the backend of a name, or all of them in order.
func lookup(name string) ([]backend, error) {
	registry.RLock()
	defer registry.RUnlock()
	if len(registry.backends) == 0 {
		return nil, fmt.Errorf("%w: none is registered; import facetrack/infer/backends", ErrNoBackend)
	}
	if name == "" || name == "auto" {
		return slices.Clone(registry.backends), nil
	}
	have := make([]string, 0, len(registry.backends))
	for _, b := range registry.backends {
		if b.name == name {
			return []backend{b}, nil
		}
		have = append(have, b.name)
	}
	return nil, fmt.Errorf("%w: %q; this binary has: auto, %s", ErrNoBackend, name, strings.Join(have, ", "))
}
