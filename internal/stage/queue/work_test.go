package queue

import (
	"context"
	"reflect"
	"testing"
)

// A camera that has to be waited for keeps nobody waiting: its items are handled beside those of the others.
func TestEachHandlesSlowItemsBeside(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8})
	const slow = 1
	push(t, b, "slow", slow)
	push(t, b, "fast", 2, 3, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	others, ended := make(chan []int, 4), make(chan bool, 1)
	b.Each(ctx, func(item int) bool { return item == slow }, func(items []int) {
		if len(items) != 1 {
			t.Errorf("batch %v", items)
		}
		if items[0] != slow {
			others <- items
			return
		}
		for want := 2; want <= 4; want++ {
			if got := <-others; got[0] != want {
				t.Errorf("item %v, want %d", got, want)
			}
		}
		ended <- true
		cancel()
	})
	if !<-ended {
		t.Error("the slow item is not handled")
	}
}

func TestEachTakesBatchesWhole(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8})
	push(t, b, "a", 1, 3)
	push(t, b, "b", 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sizes []int
	b.Each(ctx, nil, func(items []int) {
		if sizes = append(sizes, len(items)); len(sizes) == 2 {
			cancel()
		}
	})
	if len(sizes) != 2 || sizes[0] != 2 || sizes[1] != 1 {
		t.Errorf("batches of %v", sizes)
	}
}

// Items that wait for nobody are handled while every worker is busy, and the others are left to the workers.
func TestEachHurriedTakesOnlyWhatWaitsForNobody(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8})
	b.Hurry(func(item int) bool { return item%2 == 0 })
	push(t, b, "a", 1)
	busy := expect(t, b, 1)
	push(t, b, "a", 2) // behind one that is worked on
	push(t, b, "b", 3)
	push(t, b, "c", 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []int
	b.EachHurried(ctx, func(items []int) {
		got = append(got, items...)
		switch len(got) {
		case 1:
			busy.Done()
		case 2:
			cancel()
		}
	})
	if !reflect.DeepEqual(got, []int{4, 2}) {
		t.Errorf("hurried items %v, want 4 and then 2", got)
	}
	expect(t, b, 3)
}
