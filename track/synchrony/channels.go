package synchrony

import (
	"fmt"
	"slices"
	"strings"

	"facetrack/internal/spelling"
)

// Channels returns the places of names in labels, for [Options.Channels]; labels are those of the
// frames' values, such as the 52 ARKit names. A name that is not there is an error that tells the
// nearest one.
func Channels(labels []string, names ...string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, name := range names {
		i := slices.Index(labels, name)
		if i < 0 {
			return nil, fmt.Errorf("synchrony: no channel %q%s", name, suggestion(labels, name))
		}
		out = append(out, i)
	}
	return out, nil
}

func suggestion(labels []string, name string) string {
	if len(labels) == 0 {
		return ""
	}
	name = strings.ToLower(name)
	return fmt.Sprintf("; did you mean %q?", slices.MinFunc(labels, func(a, b string) int {
		return spelling.Distance(strings.ToLower(a), name) - spelling.Distance(strings.ToLower(b), name)
	}))
}
