// Package int8 measures whether networks of signed bytes would be faster than networks of halves: 1×1 convolutions at the shapes of the
// landmark network, by the same kernel in both precisions, beside the kernel that is in use. It has tests and benchmarks alone; nothing in facetrack
// computes in bytes.
//
//go:generate nvcc -ptx -arch=compute_80 -O3 -Werror all-warnings -I ../../kernels/portable -o pointwise.ptx pointwise.cu
package int8

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"facetrack/internal/cuda"
	"facetrack/internal/cuda/cudatest"
	"facetrack/internal/half"
	"facetrack/internal/kernels/ptx"
)

//go:embed pointwise.ptx
var files embed.FS

// precision is the type of activations and weights.
type precision struct {
	name  string
	bytes int
}

var (
	halves = precision{"f16", 2}
	bytes  = precision{"s8", 1}
)

// layer is a 1×1 convolution with as many channels in as out, with a scale, a bias and a slope of each channel.
type layer struct {
	precision
	channels           int
	weights            []float32 // [out][in], whole numbers
	scale, bias, slope []float32
}

func newLayer(p precision, channels int, random *rand.Rand) layer {
	l := layer{precision: p, channels: channels}
	for range channels * channels {
		l.weights = append(l.weights, float32(random.IntN(15)-7))
	}
	for range channels {
		l.scale = append(l.scale, 1/float32(8+random.IntN(64)))
		l.bias = append(l.bias, float32(random.IntN(9)-4))
		l.slope = append(l.slope, float32(random.IntN(8))/8)
	}
	return l
}

func (l layer) append(out []byte, v float32) []byte {
	if l.bytes == 1 {
		return append(out, byte(int8(v)))
	}
	return half.Append(out, v)
}

// pack makes the constants in the order in which lanes take them: of each 8·tiles channels, each word of a row and each lane, one word a tile.
func (l layer) pack() []byte {
	tiles := 4
	if l.channels < 32 {
		tiles = 2
	}
	words := l.channels * l.bytes / 16
	piece, each := min(words, 4), 4/l.bytes
	var out []byte
	for group := range l.channels / (8 * tiles) {
		for w := range words {
			for lane := range 32 {
				column, q := lane/4, lane%4
				k := (w/piece*4*piece + q*piece + w%piece) * each
				for j := range tiles {
					n := group*8*tiles + column/2*2*tiles + 2*j + column%2
					for i := range each {
						out = l.append(out, l.weights[n*l.channels+k+i])
					}
				}
			}
		}
	}
	for _, list := range [][]float32{l.scale, l.bias, l.slope} {
		for _, v := range list {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	return out
}

// compute is what the kernel does to one pixel.
func (l layer) compute(x []float32) []float32 {
	out := make([]float32, l.channels)
	for n := range out {
		sum := float32(0)
		for c, v := range x {
			sum += v * l.weights[n*l.channels+c]
		}
		v := sum*l.scale[n] + l.bias[n]
		if v < 0 {
			v *= l.slope[n]
		}
		out[n] = v
	}
	return out
}

// rig is a device with the kernels.
type rig struct {
	set    *ptx.Set
	stream *cuda.Stream
	memory *cuda.Memory
}

func newRig(t testing.TB, memory int64) *rig {
	t.Helper()
	cudatest.Emulate(t, "internal/inferbench/int8")
	ctx := cudatest.Use(t)
	r := &rig{}
	var errs [3]error
	r.set, errs[0] = ptx.Load(ctx, files)
	r.stream, errs[1] = ctx.NewStream()
	r.memory, errs[2] = ctx.Alloc(memory)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.stream.Close(), r.set.Close(), r.memory.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

const blockPixels = 64

func (r *rig) launch(l layer, x, y, constants uint64, pixels int) error {
	f := r.set.Function(fmt.Sprintf("pointwise_%s_%d", l.name, l.channels))
	return r.stream.Launch(f, cuda.Dim{X: (pixels + blockPixels - 1) / blockPixels}, cuda.Dim{X: 128}, 0, x, y, constants, uint32(pixels))
}

// TestPointwise compares the kernels with plain Go: bytes to the last digit but for ties of rounding.
func TestPointwise(t *testing.T) {
	r := newRig(t, 4<<20)
	random := rand.New(rand.NewPCG(1, 1))
	const pixels = 3*blockPixels + 21
	x, y, constants := r.memory.Address(), r.memory.Address()+1<<20, r.memory.Address()+2<<20
	for _, p := range []precision{halves, bytes} {
		for _, channels := range []int{16, 32, 64, 128} {
			l := newLayer(p, channels, random)
			in, raw := make([]float32, pixels*channels), []byte(nil)
			for i := range in {
				in[i] = float32(random.IntN(31) - 15)
				raw = l.append(raw, in[i])
			}
			out := make([]byte, pixels*channels*l.bytes)
			if err := errors.Join(r.stream.Upload(x, raw), r.stream.Upload(constants, l.pack()), r.launch(l, x, y, constants, pixels), r.stream.Download(out, y), r.stream.Synchronize()); err != nil {
				t.Fatal(err)
			}
			for i := range pixels {
				for n, want := range l.compute(in[i*channels : (i+1)*channels]) {
					got, allowed := l.value(out, i*channels+n), 1e-3*(1+math.Abs(float64(want)))
					if l.bytes == 1 {
						want, allowed = max(-128, min(127, want)), 0.501
					}
					if d := math.Abs(float64(got - want)); !(d <= allowed) {
						t.Fatalf("%s, %d channels, pixel %d, channel %d: %g, want %g", l.name, channels, i, n, got, want)
					}
				}
			}
		}
	}
}

func (l layer) value(data []byte, i int) float32 {
	if l.bytes == 1 {
		return float32(int8(data[i]))
	}
	return half.ToFloat32(binary.LittleEndian.Uint16(data[2*i:]))
}
