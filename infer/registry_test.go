package infer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/infer/reference"
)

// fakeSession stands for a backend that is preferred over the reference.
type fakeSession struct {
	infer.Session
	nodes int
}

func (fakeSession) Close() error { return nil }

func init() {
	infer.Register("fake", 100, func(g *infer.Graph, _ infer.Options) (infer.Session, error) {
		if g.Name == "refused" {
			return nil, errors.New("no room")
		}
		return fakeSession{nodes: len(g.Nodes)}, nil
	})
}

func TestOpenChoosesABackend(t *testing.T) {
	got := infer.Backends() // with the tags xnnpack and cuda there are others
	if len(got) < 3 || got[0] != "absent" || got[1] != "fake" || !slices.Contains(got[2:], reference.Name) {
		t.Fatalf("backends %q; want the highest rank first", got)
	}
	for name, fake := range map[string]bool{"": true, "auto": true, "fake": true, "reference": false} {
		s, err := infer.Open(reluGraph(), infer.Options{Backend: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.(fakeSession); ok != fake {
			t.Errorf("backend %q opened %T", name, s)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenNamesWhatIsAvailable(t *testing.T) {
	_, err := infer.Open(reluGraph(), infer.Options{Backend: "npu"})
	if !errors.Is(err, infer.ErrNoBackend) || !strings.Contains(err.Error(), "auto, "+strings.Join(infer.Backends(), ", ")) {
		t.Errorf("error %v", err)
	}
}

func TestOpenRefusesInvalidGraphs(t *testing.T) {
	g := reluGraph()
	g.Nodes[0].Inputs[0] = 7
	if _, err := infer.Open(g, infer.Options{}); !errors.Is(err, infer.ErrInvalidGraph) {
		t.Errorf("error %v", err)
	}
	if _, err := infer.Open(reluGraph(), infer.Options{Threads: -1}); !errors.Is(err, infer.ErrBadInput) {
		t.Errorf("error %v", err)
	}
	g = reluGraph()
	g.Name = "refused"
	if _, err := infer.Open(g, infer.Options{}); err == nil || !strings.Contains(err.Error(), `backend "fake": no room`) {
		t.Errorf("error %v", err)
	}
}

func TestOpenOptimisesACopy(t *testing.T) {
	for _, raw := range []bool{true, false} {
		g := convReluGraph()
		s, err := infer.Open(g, infer.Options{Backend: "fake", NoOptimize: raw})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: 2, false: 1}[raw]
		if got := s.(fakeSession).nodes; got != want || len(g.Nodes) != 2 {
			t.Errorf("raw=%t: the backend got %d nodes, want %d; the caller's graph has %d, want 2", raw, got, want, len(g.Nodes))
		}
	}
}

func TestRegisterPanicsOnAName(t *testing.T) {
	for _, name := range []string{"", "auto", "fake"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("name %q was accepted", name)
				}
			}()
			infer.Register(name, 0, reference.Open)
		}()
	}
}

// reluGraph is x [1,2] → Relu → y.
func reluGraph() *infer.Graph {
	return &infer.Graph{
		Name:   "relu",
		Values: []infer.Value{{Name: "x", Shape: []int{1, 2}}, {Name: "y", Shape: []int{1, 2}}},
		Nodes:  []infer.Node{{Op: infer.Relu, Inputs: []infer.ValueID{0}, Outputs: []infer.ValueID{1}}},
		Inputs: []infer.ValueID{0}, Outputs: []infer.ValueID{1},
	}
}

// convReluGraph is x [1,2,2,1] → 1×1 convolution with weight 3 → Relu.
func convReluGraph() *infer.Graph {
	image := []int{1, 2, 2, 1}
	return &infer.Graph{
		Name: "conv",
		Values: []infer.Value{
			{Name: "x", Shape: image}, {Name: "w", Shape: []int{1, 1, 1, 1}, Data: []float32{3}},
			{Name: "c", Shape: image}, {Name: "y", Shape: image},
		},
		Nodes: []infer.Node{
			{Op: infer.Conv2D, Inputs: []infer.ValueID{0, 1}, Outputs: []infer.ValueID{2}, Kernel: [2]int{1, 1},
				Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Groups: 1},
			{Op: infer.Relu, Inputs: []infer.ValueID{2}, Outputs: []infer.ValueID{3}},
		},
		Inputs: []infer.ValueID{0}, Outputs: []infer.ValueID{3},
	}
}
