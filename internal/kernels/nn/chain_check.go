package nn

import "math"

const (
	mostChainShared = 227 << 10 // what a block can have on Hopper
	mostChainUnits  = 64
	mostChainPixels = 1 << 12 // of an image
	mostChainBlock  = 2 * 16 * chainThreads
	mostChainWeight = math.MaxInt32 // bytes of constants
)

// check says whether the kernel takes the chain, except for its size in shared memory.
func (c *Chain) check() error {
	if len(c.units) < 1 || len(c.units) > mostChainUnits {
		return shapeError("a chain of %d units", len(c.units))
	}
	if c.in.H < 1 || c.in.W < 1 || c.in.C < 1 || c.in.C > mostChannels {
		return shapeError("a chain over %v", c.in)
	}
	outputs, read, bytes := 0, c.reads(), 0
	for i := range c.units {
		u := &c.units[i]
		if err := u.takes(c, i); err != nil {
			return err
		}
		if u.Output != 0 {
			if u.Output < 0 || u.Output > ChainOutputs || outputs>>u.Output&1 != 0 {
				return shapeError("output %d of a chain", u.Output)
			}
			outputs |= 1 << u.Output
		} else if !read[i+1] {
			return shapeError("unit %d of a chain is for nothing", i)
		}
		if read[i+1] && u.Act == Logistic { // it makes something of the channels that fill up
			return shapeError("a logistic inside a chain")
		}
		if bytes += u.weightBytes(); bytes > mostChainWeight {
			return shapeError("a chain of more than %d bytes of weights", mostChainWeight)
		}
	}
	return nil
}

// reads tells which values units read.
func (c *Chain) reads() []bool {
	read := make([]bool, len(c.units)+1)
	for i, u := range c.units {
		for _, id := range u.operands() {
			if id >= 0 && id <= i {
				read[id] = true
			}
		}
	}
	return read
}

func (u *ChainUnit) operands() []int {
	if u.Residual == NoResidual {
		return []int{u.From}
	}
	return []int{u.From, u.With}
}

// image is the shape of a value.
func (c *Chain) image(id int) Image {
	if id == 0 {
		return c.in
	}
	return c.units[id-1].Out
}

// takes says whether the kernel takes unit i of a chain.
func (u *ChainUnit) takes(c *Chain, i int) error {
	if err := u.shape(); err != nil {
		return err
	}
	for _, id := range u.operands() {
		if id < 0 || id > i {
			return shapeError("unit %d of a chain reads value %d", i, id)
		}
	}
	if c.image(u.From) != u.In {
		return shapeError("unit %d of a chain is over %v, value %d is %v", i, u.In, u.From, c.image(u.From))
	}
	if f := u.Front; f != nil && (f.Kernel != [2]int{3, 3} || f.Stride[0] != f.Stride[1] || f.Stride[0] > 2) {
		return shapeError("a front with windows of %v, stride %v, in a chain", f.Kernel, f.Stride)
	}
	want := Image{u.Out.H, u.Out.W, u.ResidualC}
	if u.Residual == PooledResidual {
		want = Image{2 * u.Out.H, 2 * u.Out.W, u.ResidualC}
	}
	if u.Residual != NoResidual && c.image(u.With) != want {
		return shapeError("unit %d of a chain adds value %d of %v, not %v", i, u.With, c.image(u.With), want)
	}
	if max(u.In.H*u.In.W, u.Out.H*u.Out.W) > mostChainPixels || u.values() > 1<<16 || u.block().bytes > mostChainBlock {
		return shapeError("a convolution of %v to %v in a chain", u.In, u.Out)
	}
	return nil
}
