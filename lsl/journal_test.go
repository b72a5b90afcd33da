package lsl

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered is a sample of the given size that carries its number.
func numbered(n, size int) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, size), uint64(n))[:size]
}

// numbers decodes samples of the given size.
func numbers(b []byte, size int) []int {
	var list []int
	for ; len(b) >= size; b = b[size:] {
		list = append(list, int(binary.LittleEndian.Uint64(b)))
	}
	return list
}

// TestJournalAgainstModel compares random operations with plain lists, one per reader.
func TestJournalAgainstModel(t *testing.T) {
	type reader struct {
		sub     *subscription
		queue   []int
		dropped int
	}
	const size, maxSlots = 8, 200
	rng := rand.New(rand.NewPCG(1, 2))
	j := newJournal(maxSlots, 1<<20)
	var readers []*reader
	for n := range 50_000 {
		switch op := rng.IntN(1000); {
		case op == 0 && len(readers) < 5:
			sub, err := j.subscribe(1 + rng.IntN(2*maxSlots))
			if err != nil {
				t.Fatal(err)
			}
			readers = append(readers, &reader{sub: sub})
		case op == 1 && len(readers) > 0:
			i := rng.IntN(len(readers))
			j.unsubscribe(readers[i].sub)
			readers = slices.Delete(readers, i, i+1)
		case op < 20 && len(readers) > 0:
			r := readers[rng.IntN(len(readers))]
			if got := numbers(j.take(r.sub, nil), size); !slices.Equal(got, r.queue) {
				t.Fatalf("step %d: took %v, want %v", n, got, r.queue)
			}
			r.queue = nil
		default:
			if err := j.push(numbered(n, size)); err != nil {
				t.Fatal(err)
			}
			for _, r := range readers {
				r.queue = append(r.queue, n)
				if lost := len(r.queue) - min(r.sub.capacity, maxSlots); lost > 0 {
					r.queue, r.dropped = r.queue[lost:], r.dropped+lost
				}
			}
		}
		for _, r := range readers {
			if queued, _, dropped := j.lag(r.sub); queued != len(r.queue) || dropped != r.dropped {
				t.Fatalf("step %d: queued %d dropped %d, want %d and %d", n, queued, dropped, len(r.queue), r.dropped)
			}
		}
		if len(j.slots) > maxSlots {
			t.Fatalf("step %d: %d slots", n, len(j.slots))
		}
	}
}

func TestJournalBoundsBytes(t *testing.T) {
	j := newJournal(1000, 1000)
	sub, err := j.subscribe(1000)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if err := j.push(numbered(n, 100)); err != nil {
			t.Fatal(err)
		}
		if j.bytes > 1000 {
			t.Fatalf("%d bytes held", j.bytes)
		}
	}
	if got, want := numbers(j.take(sub, nil), 100), []int{90, 91, 92, 93, 94, 95, 96, 97, 98, 99}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if err := j.push(make([]byte, 1001)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a sample larger than the journal: %v", err)
	}
	// A sample as large as the journal pushes everything else out.
	for n := range 3 {
		if err := j.push(numbered(n, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.push(numbered(7, 1000)); err != nil {
		t.Fatal(err)
	}
	if got := numbers(j.take(sub, nil), 1000); !slices.Equal(got, []int{7}) {
		t.Errorf("left %v, want the large sample", got)
	}
}

func TestJournalTakesBatches(t *testing.T) {
	j := newJournal(1000, 1<<20)
	sub, err := j.subscribe(1000)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1000
	for n := range 100 {
		if err := j.push(numbered(n, size)); err != nil {
			t.Fatal(err)
		}
	}
	first := j.take(sub, nil)
	if len(first) != 65*size { // 65 000 bytes fit into 65 536
		t.Errorf("first batch has %d bytes", len(first))
	}
	if got := numbers(j.take(sub, nil), size); len(got) != 35 || got[0] != 65 || got[34] != 99 {
		t.Errorf("second batch %v", got)
	}
}

// TestJournalReleasesMemory: what a slow reader made the journal grow to is freed when nobody is left.
func TestJournalReleasesMemory(t *testing.T) {
	j := newJournal(100_000, 1<<20)
	sub, err := j.subscribe(100_000)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10_000 {
		if err := j.push(numbered(n, 8)); err != nil {
			t.Fatal(err)
		}
	}
	if len(j.slots) < 10_000 {
		t.Fatalf("%d slots for 10000 samples", len(j.slots))
	}
	j.unsubscribe(sub)
	j.unsubscribe(sub) // twice is harmless
	if len(j.slots) != firstSlots || j.bytes != 0 {
		t.Errorf("%d slots and %d bytes are left", len(j.slots), j.bytes)
	}
}
