//go:build cuda && gpu

package nn

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"facetrack/internal/cuda/cudatest"
)

// BenchmarkMixer shows the time from one run to the next on a busy stream, at the size of the network of blendshapes.
func BenchmarkMixer(b *testing.B) {
	ctx := cudatest.Use(b)
	set, err := Load(ctx)
	if err != nil {
		b.Fatal(err)
	}
	stream, err := ctx.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	memory, err := ctx.Alloc(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	host, err := ctx.AllocPinned(8 << 20)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _, _, _ = host.Close(), memory.Close(), stream.Close(), set.Close() })
	m := Mixer{Points: 146, Tokens: 97, Channels: 64, TokenHidden: 384, ChannelHidden: 256, Layers: 4, Outputs: 52}
	rnd := rand.New(rand.NewPCG(15, 16))
	constants, x, y := memory.Address(), memory.Address()+(8<<20), memory.Address()+(12<<20)
	for _, p := range []Precision{F16, F32} {
		data, err := PackMixer(p, randomMixer(rnd, m))
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Upload(constants, host.Bytes()[:copy(host.Bytes(), data)]); err != nil {
			b.Fatal(err)
		}
		for _, batch := range []int{1, 16, 64, 128, 256} {
			b.Run(fmt.Sprintf("%v/%d", p, batch), func(b *testing.B) {
				var begin time.Time
				for i := range b.N + 10 {
					if i == 10 { // warm by now
						if err := stream.Synchronize(); err != nil {
							b.Fatal(err)
						}
						begin = time.Now()
					}
					if err := set.Mixer(stream, p, m, MixerAt{x, y, constants, memory.Address() + 16<<20}, batch); err != nil {
						b.Fatal(err)
					}
				}
				if err := stream.Synchronize(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(b.N)/1e3, "µs/run")
			})
		}
	}
}
