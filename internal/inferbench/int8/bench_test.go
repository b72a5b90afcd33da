//go:build cuda && gpu

package int8

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"facetrack/internal/kernels/nn"
)

// shapes are the landmark network's: sides of the image, channels.
var shapes = [][2]int{{96, 16}, {48, 32}, {24, 64}, {12, 128}, {6, 128}, {3, 128}}

// BenchmarkPointwise shows the time from one launch to the next within a graph: in bytes and in halves by the same steps, and by the
// convolution that is in use, once alone and once with the depthwise convolution in front that the network has there.
func BenchmarkPointwise(b *testing.B) {
	const size = 512 << 20
	r := newRig(b, 3*size)
	set, err := nn.Load(r.stream.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = set.Close() })
	x, y, constants := r.memory.Address(), r.memory.Address()+size, r.memory.Address()+2*size
	random := rand.New(rand.NewPCG(2, 2))
	for _, shape := range shapes {
		side, channels := shape[0], shape[1]
		for _, batch := range []int{1, 8, 64} {
			run := func(name string, launch func() error) {
				b.Run(fmt.Sprintf("%d×%d×%d/%d/%s", side, side, channels, batch, name), func(b *testing.B) { r.time(b, batch*side*side*channels*channels, launch) })
			}
			for _, p := range []precision{bytes, halves} {
				l := newLayer(p, channels, random)
				if err := r.stream.Upload(constants, l.pack()); err != nil {
					b.Fatal(err)
				}
				run(p.name, func() error { return r.launch(l, x, y, constants, batch*side*side) })
			}
			image := nn.Image{H: side, W: side, C: channels}
			alone := nn.Conv{In: image, Out: image, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Act: nn.PRelu}
			unit := alone
			unit.Front = &nn.Depthwise{In: image, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1}, Pads: [4]int{1, 1, 1, 1}}
			at := nn.ConvAt{X: x, Y: y, Constants: constants}
			run("in use", func() error { return set.Conv(r.stream, nn.F16, alone, at, batch) })
			run("in use with its front", func() error { return set.Conv(r.stream, nn.F16, unit, at, batch) })
		}
	}
}

// inGraph is how many launches a graph has, so that the GPU does not wait for the host.
const inGraph = 20

func (r *rig) time(b *testing.B, macs int, launch func() error) {
	if err := r.stream.BeginCapture(); err != nil {
		b.Fatal(err)
	}
	var failed error
	for range inGraph {
		failed = errors.Join(failed, launch())
	}
	graph, err := r.stream.EndCapture()
	if err := errors.Join(failed, err); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = graph.Close() })
	var begin time.Time
	for i := range b.N + 10 {
		if i == 10 { // warm by now
			if err := r.stream.Synchronize(); err != nil {
				b.Fatal(err)
			}
			begin = time.Now()
		}
		if err := graph.Launch(r.stream); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.stream.Synchronize(); err != nil {
		b.Fatal(err)
	}
	each := float64(time.Since(begin).Nanoseconds()) / float64(b.N*inGraph)
	b.ReportMetric(each/1e3, "µs/launch")
	b.ReportMetric(float64(macs)/each, "GMAC/s")
	if b.N > 1 {
		b.Logf(`RESULT {"benchmark":%q,"us":%.3f,"runs":%d}`, b.Name(), each/1e3, b.N*inGraph)
	}
}
