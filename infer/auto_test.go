package infer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/infer/reference"
)

func init() {
	infer.Register("absent", 200, func(*infer.Graph, infer.Options) (infer.Session, error) {
		return nil, fmt.Errorf("%w: there is no such machine", infer.ErrUnavailable)
	})
}

// "auto" goes on to the next backend; one that is named does not.
func TestOpenGoesOnPastABackendThatCannotRun(t *testing.T) {
	s, err := infer.Open(reluGraph(), infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.(fakeSession); !ok {
		t.Errorf("auto opened %T", s)
	}
	if _, err := infer.Open(reluGraph(), infer.Options{Backend: "absent"}); !errors.Is(err, infer.ErrUnavailable) || !strings.Contains(err.Error(), "no such machine") {
		t.Errorf("error %v", err)
	}
}

// Another failure of a backend that can run is not covered up by the next one.
func TestOpenStopsAtAFailure(t *testing.T) {
	g := reluGraph()
	g.Name = "refused"
	_, err := infer.Open(g, infer.Options{})
	if err == nil || !strings.Contains(err.Error(), "no such machine") || !strings.Contains(err.Error(), "no room") || strings.Contains(err.Error(), reference.Name) {
		t.Errorf("error %v", err)
	}
}

func TestPrecisionOfTheCPU(t *testing.T) {
	for word, want := range map[string]error{"": nil, "auto": nil, "fp32": nil, "fp16": infer.ErrUnavailable, "int8": infer.ErrBadInput} {
		s, err := infer.Open(reluGraph(), infer.Options{Backend: reference.Name, Precision: word})
		if !errors.Is(err, want) {
			t.Errorf("%q: error %v, want %v", word, err, want)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}
