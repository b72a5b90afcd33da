package ipc

import (
	"strconv"
	"testing"
	"time"
)

func TestSeldom(t *testing.T) {
	var s seldom
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		text  string
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"a", 0, false}, {"b", 0, true}, {"a", sayAgain - 1, false}, {"a", sayAgain, true}, {"a", sayAgain + 1, false},
	} {
		if got := s.now(c.text, at.Add(c.after)); got != c.want {
			t.Errorf("%s after %s: %v", c.text, c.after, got)
		}
	}
	for i := range 3 * differing {
		if !s.now(strconv.Itoa(i), at) || len(s.said) > differing {
			t.Fatalf("text %d of %d remembered", i, len(s.said))
		}
	}
}
