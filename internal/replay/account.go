package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"facetrack/ipc"
)

// Account is what became of a camera's frames: of the session's, Read + Unreadable + DroppedThen + Missing; of those read, Tracked and the sum
// of Dropped.
type Account struct {
	Read       uint64            `json:"read"`
	Tracked    uint64            `json:"tracked"`
	Faces      uint64            `json:"faces"`             // in all tracked frames together
	Dropped    map[string]uint64 `json:"dropped,omitempty"` // in the replay, by reason
	Unreadable uint64            `json:"unreadable"`        // stored, but no message of landmarks
	// DroppedThen were given up in the session, as the stored notices say; Missing are not in the store, without a word why.
	DroppedThen uint64 `json:"dropped_then"`
	Missing     uint64 `json:"missing"`
	// First is the number of the first frame that was read. Missing frames before it are Gone, most likely by the limits of the store.
	First uint64 `json:"first"`
	Gone  uint64 `json:"gone"`
}

// camera keeps the account of one.
type camera struct {
	account Account
	next    uint64 // one above the highest number read
	end     uint64 // one above the last, as far as capture has said
	seen    bool
	open    map[uint64]flying
	absent  []gap           // numbers that were passed over, in order
	dropped map[uint64]bool // by notices of the session
}

// flying is a frame that was fed.
type flying struct {
	then  ipc.Frame // as it was stored
	since time.Time
}

type gap struct{ from, to uint64 }

func newCamera() *camera {
	return &camera{account: Account{Dropped: map[string]uint64{}}, open: map[uint64]flying{}, dropped: map[uint64]bool{}}
}

// read notes that a frame is in the store; false when it was read before.
func (c *camera) read(seq uint64) bool {
	switch {
	case seq < c.next && !c.fill(seq):
		return false
	case seq >= c.next:
		c.pass(seq)
		c.next = seq + 1
	}
	if !c.seen {
		c.seen, c.account.First = true, seq
	}
	c.account.First = min(c.account.First, seq)
	c.account.Read++
	return true
}

// pass notes that the numbers up to, not including, end were passed over.
func (c *camera) pass(end uint64) {
	if end > c.next {
		c.absent = append(c.absent, gap{c.next, end})
	}
}

// fill takes a number out of those that were passed over; false when it was not among them.
func (c *camera) fill(seq uint64) bool {
	for i, g := range slices.Backward(c.absent) {
		if g.from <= seq && seq < g.to {
			c.absent = slices.Replace(c.absent, i, i+1, gap{g.from, seq}, gap{seq + 1, g.to})
			return true
		}
	}
	return false
}

func (c *camera) droppedThen(d *ipc.Drop) {
	for _, seq := range d.Seqs {
		c.dropped[seq] = true
	}
}

// closed is the account with what is known of the frames that were not read.
func (c *camera) closed() Account {
	a := c.account
	a.Dropped = maps.Clone(a.Dropped)
	absent := append(slices.Clone(c.absent), gap{c.next, max(c.next, c.end)})
	for _, g := range absent {
		a.Missing += g.to - g.from
		if !c.seen || g.to <= a.First {
			a.Gone += g.to - g.from
		}
	}
	for seq := range c.dropped {
		i, _ := slices.BinarySearchFunc(absent, seq, func(g gap, seq uint64) int { return cmp.Compare(g.to, seq+1) })
		if i == len(absent) || seq < absent[i].from || seq >= absent[i].to { // read after all, or after the last that is known
			continue
		}
		a.DroppedThen++
		a.Missing--
		if !c.seen || seq < a.First {
			a.Gone--
		}
	}
	a.Missing -= min(a.Missing, a.Unreadable) // whose numbers are not known
	return a
}
