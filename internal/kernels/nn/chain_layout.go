package nn

// chainUnit is a unit as the kernel has it: word by word struct Unit in chain.cuh.
type chainUnit struct {
	Kind, Weights                                   uint32
	Block, Words, At                                uint32
	From, FromPitch                                 uint32
	H, W, C                                         uint32
	StrideH, StrideW                                uint32
	Top, Left                                       uint32
	OW, ByOW                                        uint32
	Values, Pitch                                   uint32
	Vectors, ByVectors                              uint32
	Tasks                                           uint32
	Segment, Segments, BySegments                   uint32
	FrontAct                                        uint32
	TapsW, ByTapsW, TapVectors, ByTapVectors        uint32
	Product, Pixels, Tiles, Steps, Chunks           uint32
	Groups, ByGroups, Products                      uint32
	Bias, Slope                                     uint32
	Act                                             uint32
	Residual, AddedAt, AddedPitch, AddedC, AddedRow uint32
	To, ToPitch                                     uint32
	N, Channels                                     uint32
	Output, OutFloat, OutItem                       uint32
	_                                               [12]uint32
}

const (
	chainThreads   = 384
	chainWarps     = chainThreads / 32
	chainUnitBytes = 256
	chainNowhere   = 1<<32 - 1
)

// The kinds of units: 1×1 convolutions, those with a front, and others.
const (
	plainUnit = iota
	frontUnit
	windowUnit
)

// place is where an image lies in shared memory.
type place struct{ at, pitch, bytes int }

// chainLayout is where everything is, in bytes.
type chainLayout struct {
	images    []place // of the values; those that nobody reads in the chain have none
	values    int     // what is multiplied, in shared memory
	blocks    [2]int  // numbers in float32, by turns, in shared memory
	shared    int
	constants []int // of the units' weights; their blocks lie behind
	end       int   // of all constants
}

func pad8(n int) int { return (n + 7) / 8 * 8 }

// divisor is what divided in chain.cuh multiplies with.
func divisor(d int) uint32 { return uint32((1<<31 + d - 1) / d) }

// rowBytes is from one pixel to the next: an odd number of 16 bytes, so that rows begin in different banks.
func rowBytes(values int) int { return (pad8(values)*F16.Bytes()/16 | 1) * 16 }

// rows are whole tiles of 16 pixels.
func rows(m Image) int { return (m.H*m.W + 15) / 16 * 16 }

func newPlace(m Image) place {
	pitch := rowBytes(m.C)
	return place{pitch: pitch, bytes: rows(m) * pitch}
}

// kind is what the unit's values are made of.
func (u *ChainUnit) kind() int {
	switch {
	case u.Front != nil:
		return frontUnit
	case u.Kernel == [2]int{1, 1} && u.Stride == [2]int{1, 1} && u.Pads == [4]int{}:
		return plainUnit
	}
	return windowUnit
}

// values is how many are multiplied for each result; each tap's channels are filled up.
func (u *ChainUnit) values() int { return u.Kernel[0] * u.Kernel[1] * pad8(u.In.C) }

func (c *Chain) layOut() chainLayout {
	l := chainLayout{}
	l.shared = len(c.units) * chainUnitBytes
	block, staged := 0, 0
	for i := range c.units {
		u := &c.units[i]
		block = max(block, u.block().bytes)
		if u.kind() != plainUnit {
			staged = max(staged, rows(u.Out)*rowBytes(u.values()))
		}
	}
	l.blocks = [2]int{l.shared, l.shared + block}
	l.values = l.shared + 2*block
	l.shared = l.values + staged
	l.images, l.shared = c.place(l.shared)
	l.end = len(c.units) * chainUnitBytes
	for i := range c.units {
		l.constants = append(l.constants, l.end)
		l.end += c.units[i].weightBytes() + c.units[i].block().bytes
	}
	return l
}

// place gives images that are needed at the same time different memory, from an address on. What a unit makes may take the place of what it
// reads: by then its values have been made, and what it adds of an image is read just before it writes.
func (c *Chain) place(from int) (images []place, end int) {
	read, images := c.reads(), make([]place, len(c.units)+1)
	last := make([]int, len(images)) // unit that reads a value
	for i, u := range c.units {
		for _, id := range u.operands() {
			last[id] = i
		}
	}
	var held []int // values that are still needed
	end = from
	for id := range images {
		unit := id - 1
		if !read[id] {
			continue
		}
		p := newPlace(c.image(id))
		if id > 0 && c.inPlace(unit, last) {
			p.at = images[c.units[unit].From].at
		} else {
			p.at = free(images, held, from, p.bytes)
		}
		images[id] = p
		end = max(end, p.at+p.bytes)
		kept := []int{id}
		for _, k := range held {
			if last[k] > unit {
				kept = append(kept, k)
			}
		}
		held = kept
	}
	return images, end
}

// inPlace says that a unit's result may lie where its image lies.
func (c *Chain) inPlace(unit int, last []int) bool {
	u := &c.units[unit]
	return u.kind() != plainUnit && last[u.From] == unit && newPlace(u.In) == newPlace(u.Out) &&
		(u.Residual == NoResidual || u.Residual == SameResidual || u.With != u.From)
}

// free is the first gap of so many bytes between the images that are held.
func free(images []place, held []int, from, bytes int) int {
	at := from
	for again := true; again; {
		again = false
		for _, k := range held {
			if p := images[k]; at < p.at+p.bytes && p.at < at+bytes {
				at, again = p.at+p.bytes, true
			}
		}
	}
	return at
}
