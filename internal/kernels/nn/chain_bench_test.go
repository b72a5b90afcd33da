//go:build cuda && gpu

package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
)

// BenchmarkChain shows the time from one run to the next on a busy stream: parts of the end of the network of landmarks as a chain, and as
// launches of their own, both as one captured graph.
func BenchmarkChain(b *testing.B) {
	ctx := cudatest.Use(b)
	set, err := Load(ctx)
	fatal(b, err)
	stream, err := ctx.NewStream()
	fatal(b, err)
	memory, err := ctx.Alloc(1 << 30)
	fatal(b, err)
	host, err := ctx.AllocPinned(8 << 20)
	fatal(b, err)
	b.Cleanup(func() { fatal(b, errors.Join(host.Close(), memory.Close(), stream.Close(), set.Close())) })
	fatal(b, stream.Fill(memory.Address(), 0, 1<<30))
	all, rnd := landmarkTail(), rand.New(rand.NewPCG(1, 2))
	for _, first := range []int{0, 1, 3, 4, 7} {
		units := make([]ChainUnit, 0, len(all))
		for _, u := range all[first:] {
			u.From, u.With = u.From-first, max(u.With-first, 0)
			units = append(units, u)
		}
		c, err := NewChain(units[0].In, units)
		fatal(b, err)
		var weights []ConvWeights
		for _, u := range units {
			weights = append(weights, randomWeights(rnd, u.Conv))
		}
		data, err := c.Pack(weights)
		fatal(b, err)
		fatal(b, errors.Join(stream.Upload(memory.Address(), host.Bytes()[:copy(host.Bytes(), data)]), stream.Synchronize()))
		x, y, zeros := memory.Address()+8<<20, memory.Address()+512<<20, memory.Address()+768<<20
		for _, batch := range []int{1, 8, 64, 128, 256} {
			name := fmt.Sprintf("from %v/%d", units[0].In, batch)
			b.Run(name+"/chain", func(b *testing.B) {
				turns(b, stream, func() error {
					return set.Chain(stream, c, ChainAt{X: x, Y: [ChainOutputs]uint64{y, y + 1<<20}, Constants: memory.Address()}, batch)
				})
			})
			b.Run(name+"/launches", func(b *testing.B) {
				turns(b, stream, func() error {
					for i, u := range units {
						at := ConvAt{X: x + uint64(i%2)<<27, Residual: x + uint64(i%2)<<27, Y: x + uint64((i+1)%2)<<27, Constants: zeros}
						if err := set.Conv(stream, F16, u.Conv, at, batch); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

func randomWeights(rnd *rand.Rand, c Conv) ConvWeights {
	w := ConvWeights{W: random(rnd, F16, c.k()*c.Out.C, 0.05)}
	if c.Act == PRelu {
		w.Slope = random(rnd, F32, c.Out.C, 0.5)
	}
	if f := c.Front; f != nil {
		w.FrontW = random(rnd, F32, 9*f.In.C, 0.2)
		if f.Act == PRelu {
			w.FrontSlope = random(rnd, F32, f.In.C, 0.5)
		}
	}
	return w
}

func fatal(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// turns captures what queues work, and reports how long it takes on the device again and again.
func turns(b *testing.B, stream *cuda.Stream, queue func() error) {
	b.Helper()
	fatal(b, stream.BeginCapture())
	fatal(b, queue())
	graph, err := stream.EndCapture()
	fatal(b, err)
	var begin time.Time
	for i := range b.N + 10 {
		if i == 10 { // warm by now
			fatal(b, stream.Synchronize())
			begin = time.Now()
		}
		fatal(b, graph.Launch(stream))
	}
	fatal(b, stream.Synchronize())
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(b.N)/1e3, "µs/run")
	fatal(b, graph.Close())
}
