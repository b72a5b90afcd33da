package nn

import (
	"facetrack/internal/cuda"
)

// ChainUnit is a convolution of a chain. Values are counted: 0 is the chain's input, i+1 what unit i makes.
type ChainUnit struct {
	Conv
	From   int // the value that it reads
	With   int // the value that is its Residual
	Output int // the chain's output that it writes, from 1 to ChainOutputs; 0: it is for later units alone
}

// ChainOutputs is the largest number of outputs.
const ChainOutputs = 4

func (u *ChainUnit) outPrecision() Precision {
	if u.OutFloat {
		return F32
	}
	return F16
}

// Chain is convolutions that one launch computes in half precision, with a thread block for each item, in whose shared memory the images lie
// between one unit and the next. It does not change once it is made.
type Chain struct {
	in     Image
	units  []ChainUnit
	layout chainLayout
}

// NewChain lays a chain out. It has fronts of 3×3 with a stride of 1 or 2; ErrShape is the error of others, and of images that are too large.
func NewChain(in Image, units []ChainUnit) (*Chain, error) {
	c := &Chain{in: in, units: units}
	if err := c.check(); err != nil {
		return nil, err
	}
	c.layout = c.layOut()
	if c.layout.shared > mostChainShared {
		return nil, shapeError("a chain over %v takes %d bytes of shared memory", in, c.layout.shared)
	}
	return c, nil
}

// Shared is how many bytes of shared memory a thread block must be able to have.
func (c *Chain) Shared() int { return c.layout.shared }

// ChainAt is the addresses of a launch. Outputs that the chain does not have are not read.
type ChainAt struct {
	X         uint64
	Y         [ChainOutputs]uint64
	Constants uint64
}

// ChainShared is how many bytes of shared memory a thread block of a chain can have on the device.
func (s *Set) ChainShared() int { return s.shared }

// Chain queues a chain. At.Constants is the address, a multiple of 16, of what Pack made.
func (s *Set) Chain(stream *cuda.Stream, c *Chain, at ChainAt, batch int) error {
	if c.layout.shared > s.shared {
		return shapeError("a chain takes %d bytes of shared memory, a block can have %d", c.layout.shared, s.shared)
	}
	sizes := []int{c.in.Len()}
	for _, u := range c.units {
		if u.Output == 0 {
			continue
		}
		sizes = append(sizes, u.outItem())
		if at.Y[u.Output-1]%uint64(u.outPrecision().Bytes()) != 0 {
			return ErrAlign
		}
	}
	if err := fits(batch, sizes...); err != nil {
		return err
	}
	if at.Constants%16 != 0 || at.X%uint64(F16.Bytes()) != 0 {
		return ErrAlign
	}
	first := c.layout.images[0]
	return s.launch(stream, chainKernel, cuda.Dim{X: batch}, cuda.Dim{X: chainThreads}, c.layout.shared,
		at.X, at.Y[0], at.Y[1], at.Y[2], at.Y[3], at.Constants, uint32(len(c.units)), uint32(c.in.H*c.in.W), uint32(c.in.C),
		divisor(pad8(c.in.C)/8), uint32(first.at), uint32(first.pitch))
}

const chainKernel = "chain_f16"

// allowChains asks for all of the shared memory that the device has for a block.
func (s *Set) allowChains(bytes int) error {
	if f := s.Function(chainKernel); f != nil && bytes > mostShared {
		s.shared = min(bytes, mostChainShared)
		return f.AllowShared(s.shared)
	}
	s.shared = mostShared
	return nil
}
