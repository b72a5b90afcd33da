package nn

import (
	"errors"
	"testing"
)

func TestConvsThatNoKernelTakes(t *testing.T) {
	r := newRig(t)
	good := unit(Image{8, 8, 16}, 1, 16, PRelu, SameResidual, 16)
	at := ConvAt{X: r.take(1<<16, 0), Residual: r.take(1<<16, 0), Y: r.take(1<<16, 0), Constants: r.take(1<<16, 0)}
	front := func(change func(d *Depthwise)) func(c *Conv) {
		return func(c *Conv) {
			d := *c.Front
			c.Front = &d
			change(&d)
		}
	}
	for name, change := range map[string]func(c *Conv){
		"no channels":              func(c *Conv) { c.Out.C = 0 },
		"a side of nothing":        func(c *Conv) { c.In.H = 0 },
		"another size":             func(c *Conv) { c.Out.W = 7 },
		"a kernel behind a front":  func(c *Conv) { c.Kernel = three },
		"padding behind a front":   func(c *Conv) { c.Pads = around },
		"strides behind a front":   func(c *Conv) { c.Stride = two },
		"no stride":                front(func(d *Depthwise) { d.Stride = [2]int{} }),
		"negative padding":         front(func(d *Depthwise) { d.Pads[2] = -1 }),
		"another input":            front(func(d *Depthwise) { d.In.C = 8 }),
		"a front in float32":       front(func(d *Depthwise) { d.OutFloat = true }),
		"an unknown activation":    func(c *Conv) { c.Act = Logistic + 1 },
		"an unknown front's":       front(func(d *Depthwise) { d.Act = Logistic + 1 }),
		"an unknown residual":      func(c *Conv) { c.Residual = PooledResidual + 1 },
		"a residual of nothing":    func(c *Conv) { c.ResidualC = 0 },
		"a residual of too much":   func(c *Conv) { c.ResidualC = 17 },
		"items that overlap":       func(c *Conv) { c.OutItem = 100 },
		"too far apart for a word": func(c *Conv) { c.OutItem = 1 << 33 },
	} {
		if err := r.set.Conv(r.stream, F16, with(good, change), at, 1); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, batch := range []int{0, -1, 1 << 30} {
		if err := r.set.Conv(r.stream, F16, good, at, batch); !errors.Is(err, ErrShape) {
			t.Errorf("a batch of %d: %v", batch, err)
		}
	}
	for name, off := range map[string]ConvAt{"X": {X: 1}, "residual": {Residual: 1}, "Y": {Y: 1}, "constants": {Constants: 8}} {
		if err := r.set.Conv(r.stream, F16, good, off, 1); !errors.Is(err, ErrAlign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConstantsThatDoNotFit(t *testing.T) {
	r := newRig(t)
	c := unit(Image{8, 8, 4}, 1, 2, PRelu, NoResidual, 0)
	w, bias, slope, frontW := make([]float32, 8), make([]float32, 2), make([]float32, 2), make([]float32, 36)
	channels := make([]float32, 4)
	for name, weights := range map[string]ConvWeights{
		"weights":       {bias, bias, slope, frontW, channels, channels},
		"bias":          {w, channels, slope, frontW, channels, channels},
		"slope":         {w, bias, nil, frontW, channels, channels},
		"front weights": {w, bias, slope, w, channels, channels},
		"front bias":    {w, bias, slope, frontW, bias, channels},
		"front slope":   {w, bias, slope, frontW, channels, nil},
	} {
		if _, err := r.set.PackConv(F16, c, weights); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.set.PackDepthwise(F16, Depthwise{In: Image{4, 4, 4}, Kernel: three}, frontW, nil, channels); !errors.Is(err, ErrShape) {
		t.Errorf("a slope without PRelu: %v", err)
	}
}

func TestPoolsAndDepthwiseThatNoKernelTakes(t *testing.T) {
	r := newRig(t)
	in, out := Image{8, 8, 4}, Image{4, 4, 4}
	pool := func(out Image, kernel [2]int, pads [4]int, act Activation, x uint64, batch int) error {
		return r.set.MaxPool(r.stream, F32, in, out, kernel, two, pads, act, x, 0, batch)
	}
	depthwise := func(out Image, act Activation, batch int) error {
		return r.set.Depthwise(r.stream, F32, Depthwise{In: in, Kernel: two, Stride: two, Act: act}, out, 0, 0, 0, batch)
	}
	for i, err := range []error{
		pool(Image{4, 4, 5}, two, [4]int{}, None, 0, 1), pool(Image{4, 5, 4}, two, [4]int{}, None, 0, 1), pool(out, two, [4]int{}, PRelu, 0, 1),
		pool(Image{6, 6, 4}, two, [4]int{2, 2, 2, 2}, None, 0, 1), pool(out, two, [4]int{}, None, 0, 0),
		depthwise(Image{4, 4, 5}, None, 1), depthwise(Image{3, 4, 4}, None, 1), depthwise(out, Logistic+1, 1), depthwise(out, None, 1<<30),
	} {
		if !errors.Is(err, ErrShape) {
			t.Errorf("number %d: %v", i, err)
		}
	}
	if err := pool(out, two, [4]int{}, None, 2, 1); !errors.Is(err, ErrAlign) {
		t.Errorf("an address: %v", err)
	}
}
