package nn

import (
	"encoding/binary"

	"facetrack/internal/half"
)

// chainBlock is where a unit's numbers begin, counted in float32: the front's as [3×3][channels] with its bias and slope behind, then bias and
// slope of the unit, for as many channels as there are in whole groups of a product.
type chainBlock struct{ bias, slope, bytes int }

func (u *ChainUnit) block() chainBlock {
	b := chainBlock{}
	if u.Front != nil {
		b.bias = 10 * pad8(u.In.C)
		if u.Front.Act == PRelu {
			b.bias += pad8(u.In.C)
		}
	}
	n := pad8(u.Out.C)
	b.slope = b.bias + n
	b.bytes = 4 * b.slope
	if u.Act == PRelu {
		b.bytes += 4 * n
	}
	return b
}

// weightBytes is the size of a unit's weights.
func (u *ChainUnit) weightBytes() int {
	p := products[u.product()]
	return p.groups(u) * p.chunks(u) * 32 * 16
}

// Pack makes the constants of a chain, in the order in which the kernel reads them: the units, then weights and numbers of each.
func (c *Chain) Pack(w []ConvWeights) ([]byte, error) {
	if len(w) != len(c.units) {
		return nil, shapeError("weights of %d units, want %d", len(w), len(c.units))
	}
	out := make([]byte, 0, c.layout.end)
	for i := range c.units {
		unit := c.describe(i)
		var err error
		if out, err = binary.Append(out, binary.LittleEndian, &unit); err != nil {
			return nil, err
		}
	}
	for i := range c.units {
		u := &c.units[i]
		if err := u.counts(&w[i]); err != nil {
			return nil, err
		}
		out = u.packBlock(u.packWeights(out, w[i].W), &w[i])
	}
	return out, nil
}

func (u *ChainUnit) counts(w *ConvWeights) error {
	if err := counts(u.Out.C, u.k(), u.Act, w.W, w.Bias, w.Slope); err != nil || u.Front == nil {
		return err
	}
	return counts(u.In.C, 9, u.Front.Act, w.FrontW, w.FrontBias, w.FrontSlope)
}

// packWeights appends for each group of channels what the lanes take 16 bytes at a time. Of every step's 8 × 8 weights lane l has the rows
// l%4*2, +1 of column l/4; column 2p+e of number j is the channel 2(p·columns + j) + e, so that a lane's sums are of neighbouring channels.
func (u *ChainUnit) packWeights(out []byte, w []float32) []byte {
	p := products[u.product()]
	weight := func(n, k int) float32 {
		tap, c := k/pad8(u.In.C), k%pad8(u.In.C)
		if n >= u.Out.C || c >= u.In.C || k >= u.values() {
			return 0
		}
		return w[n*u.k()+tap*u.In.C+c]
	}
	for group := range p.groups(u) {
		for chunk := range p.chunks(u) {
			for lane := range 32 {
				column, row := lane/4, lane%4*2
				for i := range 4 {
					step, j := chunk*(4/p.columns)+i/p.columns, i%p.columns
					n, k := group*8*p.columns+2*(column/2*p.columns+j)+column%2, step*8+row
					out = half.Append(out, weight(n, k), weight(n, k+1))
				}
			}
		}
	}
	return out
}

// packBlock appends a unit's numbers in float32.
func (u *ChainUnit) packBlock(out []byte, w *ConvWeights) []byte {
	if f := u.Front; f != nil {
		c := pad8(u.In.C)
		turned := make([]float32, 9*c)
		for i, v := range w.FrontW {
			turned[i%9*c+i/9] = v
		}
		out = appendPadded(out, turned, len(turned))
		out = appendPadded(out, w.FrontBias, c)
		if f.Act == PRelu {
			out = appendPadded(out, w.FrontSlope, c)
		}
	}
	n := pad8(u.Out.C)
	out = appendPadded(out, w.Bias, n)
	if u.Act == PRelu {
		out = appendPadded(out, w.Slope, n)
	}
	return out
}
