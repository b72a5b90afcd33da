package lsl

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Stats is a snapshot of an outlet.
type Stats struct {
	Groups  int // multicast memberships; 0 means that only broadcast and known-peer queries find the stream
	Refused int // TCP connections closed at once: too many, or through a network that is not served
	Readers []ReaderStats
}

// ReaderStats is a snapshot of one reader, in samples.
type ReaderStats struct {
	Addr     netip.AddrPort // the reader's end of the connection
	Host     string         // as the reader calls itself; not verified
	Capacity int            // may wait at most
	Queued   int            // wait now
	Sent     int            // handed to its connection
	Dropped  int            // lost because it was too slow
}

// roster knows who is behind each subscription.
type roster struct {
	mu      sync.Mutex
	readers map[*subscription]ReaderStats
}

func newRoster() *roster { return &roster{readers: map[*subscription]ReaderStats{}} }

// add returns the function that removes the reader again.
func (r *roster) add(s *subscription, conn net.Conn, host string) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[s] = ReaderStats{Addr: addrOf(conn.RemoteAddr()), Host: host, Capacity: s.capacity}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.readers, s)
	}
}

// stats returns one entry per reader, ordered by address.
func (r *roster) stats(j *journal) []ReaderStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]ReaderStats, 0, len(r.readers))
	for s, entry := range r.readers {
		entry.Queued, entry.Sent, entry.Dropped = j.lag(s)
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b ReaderStats) int { return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.Sent, b.Sent)) })
	return list
}
