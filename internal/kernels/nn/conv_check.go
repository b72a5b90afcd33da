package nn

import "math"

// shape says whether a kernel takes the convolution.
func (c Conv) shape() error {
	if err := c.reads().check(c.Out); err != nil {
		return err
	}
	if f := c.Front; f != nil {
		if f.In != c.In || c.Kernel != [2]int{1, 1} || c.Stride != [2]int{1, 1} || c.Pads != [4]int{} {
			return shapeError("a depthwise convolution of %v in front of windows of %v, stride %v, padding %v over %v", f.In, c.Kernel, c.Stride, c.Pads, c.In)
		}
		if f.Act > Logistic || f.OutFloat {
			return shapeError("activation %d, float32 results %v of a depthwise convolution in front", f.Act, f.OutFloat)
		}
	}
	if c.k() > math.MaxInt32/4/paddedChannels(c.Out.C) {
		return shapeError("%d × %d weights", c.k(), c.Out.C)
	}
	if c.Act > Logistic || c.Residual > PooledResidual {
		return shapeError("activation %d, residual %d", c.Act, c.Residual)
	}
	if c.Residual != NoResidual && (c.ResidualC < 1 || c.ResidualC > c.Out.C) {
		return shapeError("a residual of %d channels for %v", c.ResidualC, c.Out)
	}
	if c.outItem() < c.Out.Len() {
		return shapeError("items of %v, %d elements apart", c.Out, c.OutItem)
	}
	return nil
}

func (c Conv) check(batch int) error {
	if err := c.shape(); err != nil {
		return err
	}
	residual := 1
	switch c.Residual {
	case SameResidual:
		residual = c.Out.H * c.Out.W * c.ResidualC
	case PooledResidual:
		residual = 4 * c.Out.H * c.Out.W * c.ResidualC
	}
	return fits(batch, c.In.Len(), c.outItem(), residual)
}

func (c Conv) aligned(p Precision, at ConvAt) error {
	out := p.Bytes()
	if c.OutFloat {
		out = 4
	}
	if at.Constants%16 != 0 || at.X%uint64(p.Bytes()) != 0 || at.Y%uint64(out) != 0 || c.Residual != NoResidual && at.Residual%uint64(p.Bytes()) != 0 {
		return ErrAlign
	}
	return nil
}
