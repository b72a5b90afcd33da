//go:build xnnpack

package xnnpack

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"facetrack/infer"
)

func TestRegistered(t *testing.T) {
	if got := infer.Backends()[0]; got != Name {
		t.Errorf("the backend of the highest rank is %q, want %q", got, Name)
	}
}

func openTwin(t *testing.T, o infer.Options) infer.Session {
	t.Helper()
	s, err := open(landmarkTwin(newNet()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestRunRefusesWrongBuffers(t *testing.T) {
	s := openTwin(t, infer.Options{MaxBatch: 2})
	in, out := buffersFor(s.Inputs(), 2), buffersFor(s.Outputs(), 2)
	short := buffersFor(s.Outputs(), 1)
	cases := map[string]struct {
		batch   int
		in, out []infer.Buffer
	}{
		"batch 0": {0, in, out}, "batch above the limit": {3, in, out}, "no inputs": {2, nil, out}, "an output less": {2, in, out[:1]},
		"short output": {2, in, short}, "long input": {1, in, short}, "device input": {2, []infer.Buffer{{Device: 4096}}, out},
	}
	for name, c := range cases {
		if err := s.Run(c.batch, c.in, c.out); !errors.Is(err, infer.ErrBadInput) {
			t.Errorf("%s: error %v, want ErrBadInput", name, err)
		}
	}
	if err := s.Run(2, in, out); err != nil {
		t.Errorf("correct buffers: %v", err)
	}
}

func TestClose(t *testing.T) {
	s := openTwin(t, infer.Options{Threads: 2})
	in, out := buffersFor(s.Inputs(), 1), buffersFor(s.Outputs(), 1)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if err := s.Run(1, in, out); !errors.Is(err, infer.ErrClosed) {
		t.Errorf("run after close: error %v, want ErrClosed", err)
	}
}

// TestErrorsNameTheNode: what cannot run says which node and why.
func TestErrorsNameTheNode(t *testing.T) {
	cases := map[string]struct {
		graph func(b *net) *infer.Graph
		want  error
		words []string
	}{
		"computed weights": {func(b *net) *infer.Graph {
			out := b.conv(b.input(1, 4, 4, 2), 3, 1, 1, [4]int{}, 1, infer.NoActivation)
			b.g.Nodes[0].Inputs[1] = b.input(3, 1, 1, 2)
			return b.outputs(out)
		}, ErrUnsupported, []string{"Conv2D", "constant"}},
		"rank 7": {func(b *net) *infer.Graph {
			return b.outputs(b.unary(infer.Neg, b.input(1, 1, 1, 1, 1, 1, 2)))
		}, ErrUnsupported, []string{"Neg", "rank 7"}},
		"unknown operator": {func(b *net) *infer.Graph {
			return b.outputs(b.unary("Cosine", b.input(1, 2)))
		}, ErrUnsupported, []string{"Cosine"}},
		"stride 0 by XNNPACK": {func(b *net) *infer.Graph {
			out := b.maxPool(b.input(1, 4, 4, 2), 1, 1, [4]int{})
			return b.outputs(out)
		}, ErrStatus, []string{"MaxPool2D", "invalid parameter"}},
	}
	for name, c := range cases {
		s, err := open(c.graph(newNet()), infer.Options{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
			if err == nil {
				_ = s.Close()
			}
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %q does not name %q", name, err, word)
			}
		}
	}
}

// TestRunAllocatesNothing: frames come 30 times a second and more.
func TestRunAllocatesNothing(t *testing.T) {
	s := openTwin(t, infer.Options{})
	in, out := buffersFor(s.Inputs(), 1), buffersFor(s.Outputs(), 1)
	n := testing.AllocsPerRun(20, func() {
		if err := s.Run(1, in, out); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per run, want none", n)
	}
}

// TestOpenCloseKeepsNoMemory opens sessions of 1 MB of weights each.
func TestOpenCloseKeepsNoMemory(t *testing.T) {
	b := newNet()
	g := b.outputs(b.conv(b.input(1, 4, 4, 512), 512, 1, 1, [4]int{}, 1, infer.NoActivation))
	cycle := func(n int) {
		for range n {
			s, err := open(g, infer.Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Run(1, buffersFor(s.Inputs(), 1), buffersFor(s.Outputs(), 1)); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cycle(10)
	before := residentPages(t)
	cycle(40)
	if grown := (residentPages(t) - before) * os.Getpagesize() >> 20; grown > 40 {
		t.Errorf("40 sessions opened and closed left %d MB behind", grown)
	}
}

func residentPages(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("SKIPPED: needs /proc: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestSessionsSideBySide: sessions share nothing, so goroutines may each have one.
func TestSessionsSideBySide(t *testing.T) {
	g := pyramidTwin(newNet())
	in := buffersFor(g.InputInfo(), 1)
	for i := range in[0].Host {
		in[0].Host[i] = float32(i%17) / 8
	}
	want := naive(g, [][]float32{in[0].Host})
	var wg sync.WaitGroup
	results := make([][]infer.Buffer, 4)
	errs := make([]error, len(results))
	for k := range results {
		wg.Go(func() {
			results[k], errs[k] = runRepeatedly(g, in, 20)
		})
	}
	wg.Wait()
	for k, out := range results {
		if errs[k] != nil {
			t.Fatal(errs[k])
		}
		for i := range want {
			compare(t, fmt.Sprintf("session %d output %d", k, i), out[i].Host, want[i], tolerance)
		}
	}
}

func runRepeatedly(g *infer.Graph, in []infer.Buffer, n int) ([]infer.Buffer, error) {
	s, err := open(g, infer.Options{})
	if err != nil {
		return nil, err
	}
	out := buffersFor(s.Outputs(), 1)
	for range n {
		if err := s.Run(1, in, out); err != nil {
			return nil, err
		}
	}
	return out, s.Close()
}
