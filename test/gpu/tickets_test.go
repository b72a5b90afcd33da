//go:build cuda

package gpu

import (
	"encoding/binary"
	"slices"
	"sync"
	"syscall"

	"facetrack/gpuring"
)

// ticket is a gpuring.Ticket on a pipe from the writer straight to a reader: NATS would be the slowest part here.
type ticket struct {
	Ring       int // index
	Slot       int
	Generation uint64
	Seq        uint64
	Writer     uint64 // ring generation
}

const ticketBytes = 32

func (k ticket) encode(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(k.Ring))
	binary.LittleEndian.PutUint32(b[4:], uint32(k.Slot))
	binary.LittleEndian.PutUint64(b[8:], k.Generation)
	binary.LittleEndian.PutUint64(b[16:], k.Seq)
	binary.LittleEndian.PutUint64(b[24:], k.Writer)
}

func decodeTicket(b []byte) ticket {
	return ticket{
		Ring: int(binary.LittleEndian.Uint32(b)), Slot: int(binary.LittleEndian.Uint32(b[4:])),
		Generation: binary.LittleEndian.Uint64(b[8:]), Seq: binary.LittleEndian.Uint64(b[16:]), Writer: binary.LittleEndian.Uint64(b[24:]),
	}
}

func (k ticket) of(d gpuring.Descriptor) gpuring.Ticket {
	return gpuring.Ticket{RingID: d.Ring, Slot: k.Slot, Generation: k.Generation, Seq: k.Seq}
}

// Both ends of the pipes are handed to children; the writer's come first.
const firstPipe = 3

// send puts a ticket into a pipe; false when it is full. The kernel takes so few bytes whole or not at all.
func send(pipe int, k ticket) bool {
	var b [ticketBytes]byte
	k.encode(b[:])
	_, err := syscall.Write(pipe, b[:])
	return err == nil
}

// inbox keeps the newest tickets of each ring, as many as the ring has slots: older ones are stale by now.
type inbox struct {
	mu    sync.Mutex
	keep  int
	rings [][]ticket
	news  chan struct{} // of size 1
}

func newInbox(rings, keep int) *inbox {
	return &inbox{keep: keep, rings: make([][]ticket, rings), news: make(chan struct{}, 1)}
}

func (b *inbox) put(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range slices.Chunk(data, ticketBytes) {
		t := decodeTicket(k)
		if t.Ring < len(b.rings) {
			list := append(b.rings[t.Ring], t)
			b.rings[t.Ring] = list[max(0, len(list)-b.keep):]
		}
	}
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// take returns the tickets of all rings and forgets them.
func (b *inbox) take() (all []ticket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, list := range b.rings {
		all = append(all, list...)
		b.rings[i] = nil
	}
	return all
}
