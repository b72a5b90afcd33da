//go:build cuda && gpu

package nn

import (
	"fmt"
	"testing"
	"time"

	"facetrack/internal/cuda/cudatest"
)

// benchShapes are the layers of the networks that take most of the time, at their true sizes.
var benchShapes = []Conv{
	full(Image{192, 192, 3}, 16, 3, 2, behind, PRelu),
	unit(Image{96, 96, 16}, 1, 16, PRelu, SameResidual, 16),
	unit(Image{96, 96, 16}, 2, 32, PRelu, PooledResidual, 16),
	unit(Image{48, 48, 32}, 1, 32, PRelu, SameResidual, 32),
	unit(Image{24, 24, 64}, 1, 64, PRelu, SameResidual, 64),
	unit(Image{12, 12, 128}, 1, 128, PRelu, SameResidual, 128),
	unit(Image{6, 6, 128}, 1, 128, PRelu, SameResidual, 128),
	unit(Image{3, 3, 128}, 1, 128, PRelu, SameResidual, 128),
	with(full(Image{3, 3, 8}, 1434, 3, 1, [4]int{}, None), toFloat),
	full(Image{320, 320, 3}, 16, 3, 2, around, Relu),
	unit(Image{80, 80, 16}, 1, 64, Relu, NoResidual, 0),
	unit(Image{80, 80, 64}, 1, 64, Relu, NoResidual, 0),
	unit(Image{40, 40, 64}, 1, 64, Relu, NoResidual, 0),
	pointwise(Image{40, 40, 64}, 64, None),
}

// BenchmarkConv shows the time from one launch to the next on a busy stream.
func BenchmarkConv(b *testing.B) {
	ctx := cudatest.Use(b)
	set, err := Load(ctx)
	if err != nil {
		b.Fatal(err)
	}
	stream, err := ctx.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	memory, err := ctx.Alloc(2 << 30)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _, _ = memory.Close(), stream.Close(), set.Close() })
	at := ConvAt{memory.Address(), memory.Address() + 512<<20, memory.Address() + 1024<<20, memory.Address() + 1536<<20}
	for _, c := range benchShapes {
		for _, p := range []Precision{F16, F32} {
			for _, batch := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("%v to %v/%v/%d", c.In, c.Out, p, batch), func(b *testing.B) {
					var begin time.Time
					for i := range b.N + 10 {
						if i == 10 { // warm by now
							if err := stream.Synchronize(); err != nil {
								b.Fatal(err)
							}
							begin = time.Now()
						}
						if err := set.Conv(stream, p, c, at, batch); err != nil {
							b.Fatal(err)
						}
					}
					if err := stream.Synchronize(); err != nil {
						b.Fatal(err)
					}
					each := float64(time.Since(begin).Nanoseconds()) / float64(b.N)
					b.ReportMetric(each/1e3, "µs/launch")
					b.ReportMetric(float64(batch*c.Out.H*c.Out.W*c.Out.C*c.k())/each, "GMAC/s")
				})
			}
		}
	}
}
