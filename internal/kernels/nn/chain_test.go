package nn

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"facetrack/internal/half"
)

// chainTrial is a chain on the device. Of each unit that is an output, the twin makes the same of what the device has made of the units before.
type chainTrial struct {
	*rig
	units  []ChainUnit
	trials []*trial // of the units
	batch  int
	offset int // elements by which the input and the outputs are off a multiple of 256 bytes
	x      []float32
}

func (r *rig) chainTrial(rnd *rand.Rand, units []ChainUnit, batch int) *chainTrial {
	v := &chainTrial{rig: r, units: units, batch: batch, x: random(rnd, F16, batch*units[0].In.Len(), 1)}
	for i := range units {
		v.trials = append(v.trials, r.trial(rnd, F16, units[i].Conv, batch))
	}
	return v
}

func (v *chainTrial) weights() (all []ConvWeights) {
	for _, t := range v.trials {
		all = append(all, t.weights)
	}
	return all
}

// device gives the outputs by number, and expects everything between and behind their items untouched.
func (v *chainTrial) device() (outputs [ChainOutputs + 1][]float32) {
	v.Helper()
	v.taken = 0
	c, err := NewChain(v.units[0].In, v.units)
	v.must(err)
	constants, err := c.Pack(v.weights())
	v.must(err)
	at := ChainAt{X: v.place(F16, v.x, v.offset), Constants: v.take(len(constants), 0)}
	v.upload(at.Constants, constants)
	untouched := map[int][]byte{}
	for i, u := range v.units {
		if u.Output > 0 {
			untouched[i] = bytes.Repeat([]byte{0xa5}, (v.batch*u.outItem()+64)*u.outPrecision().Bytes())
			at.Y[u.Output-1] = v.take(len(untouched[i]), v.offset*u.outPrecision().Bytes())
			v.upload(at.Y[u.Output-1], untouched[i])
		}
	}
	v.must(v.set.Chain(v.stream, c, at, v.batch))
	for i, u := range v.units {
		if u.Output == 0 {
			continue
		}
		p := u.outPrecision()
		got, item, step := v.download(at.Y[u.Output-1], len(untouched[i])), u.Out.Len()*p.Bytes(), u.outItem()*p.Bytes()
		var items []byte
		for b := range v.batch {
			items = append(items, got[b*step:b*step+item]...)
			copy(got[b*step:], untouched[i][:item])
		}
		if !bytes.Equal(got, untouched[i]) {
			v.Errorf("output %d: bytes beside the result were written", u.Output)
		}
		outputs[u.Output] = decode(p, items)
	}
	return outputs
}

// check needs chains of which every unit is an output.
func (v *chainTrial) check() {
	v.Helper()
	outputs := v.device()
	values := [][]float32{v.x}
	for i, u := range v.units {
		got := outputs[u.Output]
		t := v.trials[i]
		t.T, t.x = v.T, values[u.From]
		if u.Residual != NoResidual {
			t.res = values[u.With]
		}
		if t.compare(got); v.Failed() {
			v.Fatalf("unit %d: %+v, front %+v", i, u, u.Front)
		}
		rounded := make([]float32, len(got))
		for k := range got {
			rounded[k] = half.Round(got[k])
		}
		values = append(values, rounded)
	}
}

// link adds a unit to a chain, which reads what the last one makes.
func link(units []ChainUnit, c Conv) []ChainUnit {
	return append(units, ChainUnit{Conv: c, From: len(units), With: len(units), Output: len(units) + 1})
}

func randomChain(r *rand.Rand) []ChainUnit {
	channels := []int{1, 3, 4, 8, 10, 16, 20, 24, 32, 42, 52, 64, 72, 96, 128}
	pick := func() int { return channels[r.IntN(len(channels))] }
	images := []Image{{1 + r.IntN(14), 1 + r.IntN(14), pick()}}
	if r.IntN(2) == 0 {
		images[0].H, images[0].W = 2+2*r.IntN(6), 2+2*r.IntN(6)
	}
	var units []ChainUnit
	for range 1 + r.IntN(ChainOutputs) {
		id := len(images) - 1
		if r.IntN(5) == 0 {
			id = r.IntN(len(images))
		}
		w := window{in: images[id], kernel: one, stride: one}
		kind := r.IntN(4)
		if kind < 3 && min(w.in.H, w.in.W) > 2 {
			s := 1 + r.IntN(2)
			w.kernel, w.stride, w.pads = three, [2]int{s, s}, around
			if r.IntN(3) == 0 {
				w.pads = [4]int{r.IntN(3), r.IntN(3), r.IntN(3), r.IntN(3)}
			} else if s == 2 && w.in.H%2+w.in.W%2 == 0 {
				w.pads = behind
			}
		}
		c := Conv{In: w.in, Out: w.made(pick()), Kernel: w.kernel, Stride: w.stride, Pads: w.pads, Act: Activation(r.IntN(4)), OutFloat: r.IntN(3) == 0}
		if kind < 2 && w.kernel == three {
			c.Front = &Depthwise{In: w.in, Kernel: w.kernel, Stride: w.stride, Pads: w.pads, Act: Activation(r.IntN(5))}
			c.Kernel, c.Stride, c.Pads = one, one, [4]int{}
		}
		with := 0
		for k, m := range images {
			same, pooled := m.H == c.Out.H && m.W == c.Out.W, m.H == 2*c.Out.H && m.W == 2*c.Out.W
			if r.IntN(4) > 0 && (same || pooled) {
				c.Out.C = max(c.Out.C, m.C)
				c.Residual, c.ResidualC, with = SameResidual, m.C, k
				if pooled {
					c.Residual = PooledResidual
				}
			}
		}
		if r.IntN(3) == 0 {
			c.OutItem = c.Out.Len() + r.IntN(20)
		}
		images = append(images, c.Out)
		units = append(units, ChainUnit{Conv: c, From: id, With: with, Output: len(units) + 1})
	}
	return units
}

func TestRandomChains(t *testing.T) {
	rnd, r := rand.New(rand.NewPCG(21, 0)), newRig(t)
	for i := range 120 {
		units, batch := randomChain(rnd), 1+rnd.IntN(3)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r.T = t
			if _, err := NewChain(units[0].In, units); err != nil && strings.Contains(err.Error(), "shared memory") {
				t.Skip(err)
			}
			v := r.chainTrial(rnd, units, batch)
			v.offset = rnd.IntN(4) * rnd.IntN(3)
			v.check()
		})
	}
	r.T = t
}

// landmarkTail is the end of the network of landmarks: its thirteen last layers.
func landmarkTail() (units []ChainUnit) {
	add := func(c Conv, output int) {
		units = link(units, c)
		units[len(units)-1].Output = output
	}
	residual := func(in Image, stride, n int) {
		kind := SameResidual
		if stride == 2 {
			kind = PooledResidual
		}
		add(unit(in, stride, n, PRelu, kind, in.C), 0)
	}
	residual(Image{24, 24, 64}, 2, 128)
	for _, side := range []int{12, 6} {
		residual(Image{side, side, 128}, 1, 128)
		residual(Image{side, side, 128}, 1, 128)
		residual(Image{side, side, 128}, 2, 128)
	}
	residual(Image{3, 3, 128}, 1, 128)
	residual(Image{3, 3, 128}, 1, 128)
	add(pointwise(Image{3, 3, 128}, 8, PRelu), 0)
	residual(Image{3, 3, 8}, 1, 8)
	shared := len(units)
	for i, n := range []int{1, 1434} {
		add(with(full(Image{3, 3, 8}, n, 3, 1, [4]int{}, None), toFloat), i+1)
		units[len(units)-1].From = shared
	}
	return units
}

// A chain computes what launches one by one compute, but for the order of sums.
func TestChainIsItsUnits(t *testing.T) {
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(22, 0))
	v := r.chainTrial(rnd, landmarkTail(), 2)
	got := v.device()
	values := [][]float32{v.x}
	for i, u := range v.units {
		one := v.trials[i]
		if one.x = values[u.From]; u.Residual != NoResidual {
			one.res = values[u.With]
		}
		values = append(values, one.device())
		if u.Output > 0 {
			differ(t, got[u.Output], values[i+1], func(k int) float64 { return 0.1 * (1 + abs(values[i+1][k])) })
		}
	}
}

func abs(v float32) float64 { return float64(max(v, -v)) }

// Images that are needed at the same time lie apart, and those of a network's end fit beside one another.
func TestChainLayout(t *testing.T) {
	units := landmarkTail()
	c, err := NewChain(units[0].In, units)
	if err != nil {
		t.Fatal(err)
	}
	if c.Shared() > 176<<10 {
		t.Errorf("the end of the landmarks takes %d bytes", c.Shared())
	}
	if _, err := NewChain(Image{60, 60, 64}, []ChainUnit{{Conv: unit(Image{60, 60, 64}, 2, 8, Relu, NoResidual, 0), Output: 1}}); !errors.Is(err, ErrShape) {
		t.Errorf("an image that does not fit: %v", err)
	}
	c, err = NewChain(units[1].In, []ChainUnit{{Conv: units[1].Conv}, {Conv: units[2].Conv, From: 1, With: 1, Output: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Shared() > 99<<10 {
		t.Errorf("two layers of 12×12 take %d bytes", c.Shared())
	}
}

func TestChainsThatNoKernelTakes(t *testing.T) {
	m := Image{8, 8, 16}
	good := func() []ChainUnit {
		units := link(link(nil, unit(m, 1, 16, PRelu, SameResidual, 16)), unit(m, 2, 32, Relu, PooledResidual, 16))
		units[0].Output = 0
		return units
	}
	front := func(u *ChainUnit, change func(d *Depthwise)) {
		d := *u.Front
		change(&d)
		u.Front = &d
	}
	if _, err := NewChain(m, good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(u []ChainUnit){
		"no channels":          func(u []ChainUnit) { u[1].Out.C = 0 },
		"another image":        func(u []ChainUnit) { u[1].From = 0; u[0].Out.C = 8 },
		"a value that is none": func(u []ChainUnit) { u[1].From = -1 },
		"a value of its own":   func(u []ChainUnit) { u[1].From = 2 },
		"a residual to come":   func(u []ChainUnit) { u[0].With = 1 },
		"another residual":     func(u []ChainUnit) { u[1].Residual = SameResidual },
		"a stride of three": func(u []ChainUnit) {
			front(&u[1], func(d *Depthwise) { d.Stride = [2]int{3, 3}; d.Pads = [4]int{1, 1, 2, 2} })
		},
		"an output that is none": func(u []ChainUnit) { u[1].Output = ChainOutputs + 1 },
		"one output twice":       func(u []ChainUnit) { u[0].Output = 2 },
		"a result for nobody":    func(u []ChainUnit) { u[1].Output = 0 },
		"a logistic inside":      func(u []ChainUnit) { u[0].Act = Logistic },
		"too many numbers":       func(u []ChainUnit) { u[1].Out.C = 4000 },
	} {
		units := good()
		change(units)
		if _, err := NewChain(m, units); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewChain(m, nil); !errors.Is(err, ErrShape) {
		t.Errorf("no units: %v", err)
	}
	if _, err := NewChain(Image{}, good()); !errors.Is(err, ErrShape) {
		t.Errorf("no input: %v", err)
	}
}

func TestChainsThatCannotBeLaunched(t *testing.T) {
	r := newRig(t)
	v := r.chainTrial(rand.New(rand.NewPCG(23, 0)), link(nil, unit(Image{4, 4, 8}, 1, 8, PRelu, SameResidual, 8)), 1)
	c, err := NewChain(Image{4, 4, 8}, v.units)
	r.must(err)
	for _, w := range [][]ConvWeights{nil, {{}}, {{W: v.trials[0].weights.W, Slope: v.trials[0].weights.Slope}}} {
		if _, err := c.Pack(w); !errors.Is(err, ErrShape) {
			t.Errorf("weights that do not fit: %v", err)
		}
	}
	good := ChainAt{X: r.take(1<<10, 0), Y: [ChainOutputs]uint64{r.take(1<<10, 0)}, Constants: r.take(1<<10, 0)}
	for name, change := range map[string]func(at *ChainAt){
		"X": func(at *ChainAt) { at.X++ }, "Y": func(at *ChainAt) { at.Y[0]++ }, "constants": func(at *ChainAt) { at.Constants += 8 },
	} {
		at := good
		if change(&at); !errors.Is(r.set.Chain(r.stream, c, at, 1), ErrAlign) {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, batch := range []int{0, -1, 1 << 30} {
		if err := r.set.Chain(r.stream, c, good, batch); !errors.Is(err, ErrShape) {
			t.Errorf("a batch of %d: %v", batch, err)
		}
	}
	r.set.shared = 1 << 10
	if err := r.set.Chain(r.stream, c, good, 1); !errors.Is(err, ErrShape) {
		t.Errorf("more shared memory than there is: %v", err)
	}
}
