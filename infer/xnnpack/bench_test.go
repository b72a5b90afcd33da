//go:build xnnpack

package xnnpack

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"facetrack/infer"
)

// flops counts the multiplications and additions of the convolutions.
func flops(g *infer.Graph) float64 {
	total := 0
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op == infer.Conv2D {
			total += 2 * g.Values[n.Outputs[0]].Len() * volume(g.Values[n.Inputs[1]].Shape[1:])
		}
	}
	return float64(total)
}

// BenchmarkNetworks reports the best and the median time of one item: on a busy machine ns/op says little.
func BenchmarkNetworks(b *testing.B) {
	for _, n := range networks {
		g := n.load(b)
		for _, backend := range []string{Name, "reference"} {
			b.Run(n.name+"/"+backend, func(b *testing.B) { benchmark(b, n, g, backend) })
		}
	}
}

func benchmark(b *testing.B, n network, g *infer.Graph, backend string) {
	s, err := infer.Open(g, infer.Options{Backend: backend})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	in, out := n.input(g), buffersFor(s.Outputs(), 1)
	var times []float64
	for b.Loop() {
		start := time.Now()
		if err := s.Run(1, in, out); err != nil {
			b.Fatal(err)
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
	}
	slices.Sort(times)
	b.ReportMetric(times[0], "best-µs")
	b.ReportMetric(times[len(times)/2], "median-µs")
	b.ReportMetric(flops(g)/times[0]/1e3, "GFLOP/s")
}

// BenchmarkSteps logs, with -v, where the time of a network goes: each step's best time.
func BenchmarkSteps(b *testing.B) {
	for _, n := range networks {
		b.Run(n.name, func(b *testing.B) {
			g := n.load(b)
			if err := infer.Optimize(g); err != nil {
				b.Fatal(err)
			}
			s, err := build(g, infer.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			logSteps(b, s, lower(g), s.take(0, n.input(g)))
		})
	}
}

func logSteps(b *testing.B, s *session, p *program, input *float32) {
	best := slices.Repeat([]time.Duration{time.Hour}, s.count)
	for b.Loop() {
		for i := range best {
			start := time.Now()
			if err := s.runSteps(i, 1, input); err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], time.Since(start))
		}
	}
	sums, k := map[infer.Op]time.Duration{}, 0
	for i := range p.nodes {
		n := &p.nodes[i]
		for ; k < s.count && s.nodes[k] == i; k++ {
			sums[n.Op] += best[k]
			b.Logf("%9.2f µs  %-13s %v → %v", best[k].Seconds()*1e6, n.Op, p.shape(n.Inputs[0]), p.shape(n.Outputs[0]))
		}
	}
	b.Log(fmt.Sprint(sums))
}
