package nn

// tiling is how a launch divides a convolution: tiles of m pixels by splits of some groups of 32 channels.
type tiling struct {
	m, w, h       int // pixels of a tile; its width and height when images fall into such tiles, else 0
	tiles, splits int
	groups        int // of a block
	chunk         int // of the values that are summed up, in shared memory at a time
	shared        int // bytes
}

const (
	groupChannels = 32
	mostWarps     = 8 // of a block
	mostShared    = 48 << 10
	perPixel      = 24   // bytes of shared memory beside the values
	enoughBlocks  = 264  // two for each multiprocessor of an H100
	manyBlocks    = 1056 // with tiles of 32 pixels; fewer are done sooner by twice as many with half of them
	fewBlocks     = 132
	smallTile     = 16
)

// tiling chooses the largest tile, which reads weights least often, that still gives every multiprocessor something to do. Beside a tile, shared
// memory must hold `whole` bytes, and all values of a pixel then, or there is none.
func (c Conv) tiling(p Precision, batch, whole int) tiling {
	groups := (c.Out.C + groupChannels - 1) / groupChannels
	pixels, t := batch*c.Out.H*c.Out.W, tiling{chunk: (c.k() + 7) / 8 * 8}
	for _, m := range [...]int{128, 64, 32, smallTile} {
		t.m, t.groups = m, min(groups, mostWarps/max(1, m/32))
		t.tiles = (pixels + m - 1) / m
		t.splits = (groups + t.groups - 1) / t.groups
		if t.splits > 1 && t.groups < 4 || whole > 0 && sharedBytes(p, m, t.chunk)+whole > mostShared {
			continue // the values would be made for few channels, or do not fit
		}
		if t.tiles*t.splits >= enoughBlocks && (m > smallTile*2 || t.tiles*t.splits >= manyBlocks) {
			break
		}
	}
	for t.groups > 1 && t.tiles*t.splits*2 <= fewBlocks {
		t.groups = (t.groups + 1) / 2
		t.splits = (groups + t.groups - 1) / t.groups
	}
	if most := ((mostShared/t.m-perPixel)/p.Bytes() - 8) / 32 * 32; t.chunk > most {
		t.chunk = most
	}
	t.shared = sharedBytes(p, t.m, t.chunk) + whole
	t.w, t.h = c.square(t.m)
	return t
}

// sharedBytes is what m pixels of so many values take. Rows are an odd number of 16 bytes apart, so that they begin in different banks.
func sharedBytes(p Precision, m, values int) int {
	return m * (perPixel + ((values+7)/8*8*p.Bytes()/16|1)*16)
}

// square is the sides of a tile of which the images consist. Neighbouring windows overlap, so squarer tiles read less.
func (c Conv) square(m int) (w, h int) {
	for _, w := range [...]int{16, 8, 4} {
		if h := m / w; c.reads().kernel != [2]int{1, 1} && h >= 4 && c.Out.W%w == 0 && c.Out.H%h == 0 {
			return w, h
		}
	}
	return 0, 0
}

// threads are enough for every warp's sums, and for each vector of the tile, or for `pixels` of them that a thread computes at once.
func (t tiling) threads(width, pixels int) int {
	return max(max(1, t.m/32)*t.groups*32, min((t.m*t.chunk/(width*pixels)+31)/32*32, mostWarps*32))
}
