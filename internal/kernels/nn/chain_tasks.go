package nn

// product is how a warp divides a matrix product: tiles of 16 pixels by columns of 8 channels at a time.
type product struct{ tiles, columns int }

// products are those that the kernel has, in its order.
var products = [...]product{{3, 4}, {1, 4}, {1, 2}}

// product chooses the one that takes the least time: what its warps issue on a quarter of a multiprocessor, or what one of them waits for.
func (u *ChainUnit) product() (which int) {
	least := 0
	for i, p := range products {
		tasks := p.tasks(u)
		active := (min(tasks, chainWarps) + 3) / 4
		issued := active * (3*p.tiles*p.columns + 2*p.tiles + p.columns)
		cost := (tasks + chainWarps - 1) / chainWarps * max(issued, 30+2*p.tiles*p.columns)
		if i == 0 || cost <= least {
			which, least = i, cost
		}
	}
	return which
}

func (p product) groups(u *ChainUnit) int { return (pad8(u.Out.C)/8 + p.columns - 1) / p.columns }

func (p product) tasks(u *ChainUnit) int {
	return (rows(u.Out)/16 + p.tiles - 1) / p.tiles * p.groups(u)
}

// chunks is how often a lane takes 16 bytes of weights for a task: those of 4 / columns steps of eight values.
func (p product) chunks(u *ChainUnit) int {
	each := 4 / p.columns
	return (u.values()/8 + each - 1) / each
}

// segment is how many pixels of a row a thread makes of a front, so that all threads have made theirs soonest.
func (u *ChainUnit) segment() (pixels int) {
	least := 0
	for n := 1; n <= u.Out.W; n++ {
		tasks := pad8(u.In.C) / 4 * u.Out.H * ((u.Out.W + n - 1) / n)
		cost := (tasks + chainThreads - 1) / chainThreads * (u.columns(n) + 2)
		if n == 1 || cost <= least {
			pixels, least = n, cost
		}
	}
	return pixels
}

// columns is how many columns a front needs for some pixels.
func (u *ChainUnit) columns(pixels int) int { return (pixels-1)*u.Front.Stride[1] + 3 }

// describe makes unit i as the kernel reads it.
func (c *Chain) describe(i int) chainUnit {
	u, l := &c.units[i], &c.layout
	from, p := l.images[u.From], products[u.product()]
	w, b := u.reads(), u.block()
	d := chainUnit{
		Kind: uint32(u.kind()), Weights: uint32(l.constants[i]), Block: uint32(l.constants[i] + u.weightBytes()), Words: uint32(b.bytes / 16),
		At: uint32(l.blocks[i%2]), From: uint32(from.at), FromPitch: uint32(from.pitch), H: uint32(u.In.H), W: uint32(u.In.W), C: uint32(pad8(u.In.C)),
		StrideH: uint32(w.stride[0]), StrideW: uint32(w.stride[1]), Top: uint32(w.pads[0]), Left: uint32(w.pads[1]),
		OW: uint32(u.Out.W), ByOW: divisor(u.Out.W), Values: uint32(l.values), Pitch: uint32(rowBytes(u.values())),
		Product: uint32(u.product()), Pixels: uint32(u.Out.H * u.Out.W), Tiles: uint32(rows(u.Out) / 16), Steps: uint32(u.values() / 8),
		Chunks: uint32(p.chunks(u)), Groups: uint32(p.groups(u)), ByGroups: divisor(p.groups(u)), Products: uint32(p.tasks(u)),
		Bias: uint32(b.bias), Slope: uint32(b.slope), Act: uint32(u.Act), Residual: uint32(u.Residual),
		To: chainNowhere, N: uint32(pad8(u.Out.C)), Channels: uint32(u.Out.C), Output: uint32(u.Output), OutItem: uint32(u.outItem()),
	}
	switch u.kind() {
	case plainUnit:
		d.Values, d.Pitch = d.From, d.FromPitch
	case frontUnit:
		c.describeFront(u, &d)
	case windowUnit:
		if i > 0 && u.sameWindows(&c.units[i-1]) {
			d.Kind = plainUnit // of the values that are there
			break
		}
		vectors, taps := u.values()/8, pad8(u.In.C)/8
		d.Vectors, d.ByVectors, d.Tasks = uint32(vectors), divisor(vectors), d.Pixels*uint32(vectors)
		d.TapsW, d.ByTapsW, d.TapVectors, d.ByTapVectors = uint32(u.Kernel[1]), divisor(u.Kernel[1]), uint32(taps), divisor(taps)
	}
	if u.OutFloat {
		d.OutFloat = 1
	}
	if u.Residual != NoResidual {
		added := l.images[u.With]
		d.AddedAt, d.AddedPitch, d.AddedC, d.AddedRow = uint32(added.at), uint32(added.pitch), uint32(pad8(u.ResidualC)), uint32(c.image(u.With).W)
	}
	if to := l.images[i+1]; to.bytes > 0 {
		d.To, d.ToPitch = uint32(to.at), uint32(to.pitch)
	}
	return d
}

// sameWindows says that a unit multiplies what the one before it has multiplied.
func (u *ChainUnit) sameWindows(before *ChainUnit) bool {
	return before.kind() == windowUnit && u.From == before.From && u.reads() == before.reads()
}

func (c *Chain) describeFront(u *ChainUnit, d *chainUnit) {
	vectors, segment := pad8(u.In.C)/4, u.segment()
	segments := (u.Out.W + segment - 1) / segment
	d.Vectors, d.ByVectors, d.Tasks = uint32(vectors), divisor(vectors), uint32(vectors*u.Out.H*segments)
	d.Segment, d.Segments, d.BySegments = uint32(segment), uint32(segments), divisor(segments)
	d.FrontAct = uint32(u.Front.Act)
}
