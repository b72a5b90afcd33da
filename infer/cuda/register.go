package gpu

import (
	"fmt"

	"facetrack/infer"
)

// Name is the name that the backend registers under.
const Name = "cuda"

// rank puts this backend behind all others: who wants it names it.
const rank = -1

func init() { infer.Register(Name, rank, open) }

// open says of whatever is in the way that the backend cannot run here, so that "auto" goes on: a CPU can.
func open(g *infer.Graph, o infer.Options) (infer.Session, error) {
	s, err := openSession(g, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", infer.ErrUnavailable, err)
	}
	return s, nil
}
