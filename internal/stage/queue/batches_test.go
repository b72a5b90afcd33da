package queue

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"
)

func push(t *testing.T, b *Batches[int], camera string, items ...int) {
	t.Helper()
	for _, item := range items {
		if old, dropped := b.Push(camera, item); dropped {
			t.Errorf("camera %s dropped %d", camera, old)
		}
	}
}

func expect(t *testing.T, b *Batches[int], want ...int) *Batch[int] {
	t.Helper()
	batch := b.Next(t.Context())
	if !reflect.DeepEqual(batch.Items, want) {
		t.Fatalf("batch %v, want %v", batch.Items, want)
	}
	return batch
}

func TestBatchHasOneItemOfEachCameraInOrder(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8})
	push(t, b, "a", 1, 2)
	push(t, b, "b", 11)
	first := expect(t, b, 1, 11)
	push(t, b, "c", 21)
	second := expect(t, b, 21) // those of the first batch are busy
	first.Done()
	third := expect(t, b, 2)
	second.Done()
	third.Done()
}

func TestBatchTakesNoMoreThanItsSize(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 2, First: func(camera string) bool { return camera == "urgent" }})
	push(t, b, "a", 1)
	push(t, b, "b", 2)
	push(t, b, "urgent", 3)
	expect(t, b, 3, 1)
	expect(t, b, 2)
}

func TestOldestItemMakesRoom(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 2, Most: 2})
	push(t, b, "a", 1, 2)
	if old, dropped := b.Push("a", 3); !dropped || old != 1 {
		t.Errorf("dropped %v: %d, want the oldest", dropped, old)
	}
	expect(t, b, 2)
}

// next calls Next in the background.
func next(t *testing.T, b *Batches[int]) <-chan []int {
	t.Helper()
	got := make(chan []int, 1)
	go func() {
		if batch := b.Next(t.Context()); batch != nil {
			got <- batch.Items
		}
	}()
	return got
}

func TestBatchWaitsUntilEveryCameraIsThere(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8, Wait: time.Hour})
	b.asleep = time.Hour
	push(t, b, "a", 1)
	push(t, b, "b", 2)
	expect(t, b, 1, 2).Done() // both are awake now
	push(t, b, "a", 3)
	got := next(t, b)
	select {
	case items := <-got:
		t.Fatalf("batch %v without the other camera", items)
	case <-time.After(10 * time.Millisecond):
	}
	push(t, b, "b", 4)
	if items := <-got; !reflect.DeepEqual(items, []int{3, 4}) {
		t.Errorf("batch %v", items)
	}
}

// Items that are of no use together go at once, past those that wait, but never past one of their own camera.
func TestHurriedItemsWaitForNobody(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8, Wait: time.Hour})
	b.asleep = time.Hour
	b.Hurry(func(item int) bool { return item < 10 })
	push(t, b, "a", 11, 1)
	push(t, b, "b", 2, 3)
	push(t, b, "c", 12)
	expect(t, b, 11, 2, 12).Done() // every camera is there
	expect(t, b, 1, 3).Done()
	push(t, b, "a", 13, 5)
	got := next(t, b)
	push(t, b, "b", 4)
	if items := <-got; !reflect.DeepEqual(items, []int{4}) {
		t.Errorf("batch %v", items)
	}
	push(t, b, "c", 14) // the last one, for b is busy
	expect(t, b, 13, 14).Done()
	expect(t, b, 5)
}

func TestBatchWaitsNoLongerThanItMay(t *testing.T) {
	const wait = 20 * time.Millisecond
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8, Wait: wait})
	b.asleep = time.Hour
	push(t, b, "a", 1)
	push(t, b, "b", 2)
	expect(t, b, 1, 2).Done()
	begin := time.Now()
	push(t, b, "a", 3)
	expect(t, b, 3)
	if took := time.Since(begin); took < wait {
		t.Errorf("the batch came after %v although another camera was awake", took)
	}
}

func TestShapeChangesWhatComes(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 1})
	push(t, b, "a", 1)
	push(t, b, "b", 2)
	expect(t, b, 1).Done()
	push(t, b, "c", 3)
	b.Shape(8, 0, false)
	expect(t, b, 2, 3).Done()
	b.Shape(8, time.Hour, false)
	b.asleep = time.Hour
	push(t, b, "a", 4)
	got := next(t, b)
	b.Shape(0, 0, false) // one that waits sees it
	if items := <-got; !reflect.DeepEqual(items, []int{4}) {
		t.Errorf("batch %v", items)
	}
}

// With Eager nobody waits while no batch is worked on; behind one, items do.
func TestEagerBatches(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8, Wait: time.Hour, Eager: true})
	b.asleep = time.Hour
	push(t, b, "a", 1, 11)
	push(t, b, "b", 2, 12)
	push(t, b, "c", 3)
	push(t, b, "d", 4)
	expect(t, b, 1, 2, 3, 4).Done() // all are awake now, and c has d to wait for
	first := expect(t, b, 11, 12)
	push(t, b, "c", 13)
	got := next(t, b)
	select {
	case items := <-got:
		t.Fatalf("%v waits for nobody", items)
	case <-time.After(20 * time.Millisecond):
	}
	first.Split(func(int) bool { return true }) // nothing is left of it but what nobody waits behind
	first.Done()
	if items := <-got; !reflect.DeepEqual(items, []int{13}) {
		t.Errorf("batch %v", items)
	}
}

// Nor does anybody wait behind items that wait for nobody.
func TestEagerBesideHurriedItems(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8, Wait: time.Hour, Eager: true})
	b.asleep = time.Hour
	b.Hurry(func(item int) bool { return item == 2 })
	push(t, b, "a", 1)
	push(t, b, "b", 2)
	push(t, b, "c", 3)
	if hurried := b.NextHurried(t.Context()); !reflect.DeepEqual(hurried.Items, []int{2}) {
		t.Fatalf("hurried %v", hurried.Items)
	}
	expect(t, b, 1, 3)
}

// What is taken out of a batch is done by itself.
func TestSplitBatch(t *testing.T) {
	b := NewBatches[int](BatchOptions{Limit: 4, Most: 8})
	push(t, b, "a", 1, 11)
	push(t, b, "b", 2, 12)
	push(t, b, "c", 3, 13)
	batch := expect(t, b, 1, 2, 3)
	apart := batch.Split(func(item int) bool { return item != 2 })
	if len(apart) != 2 || apart[0].Items[0] != 1 || apart[1].Items[0] != 3 || !reflect.DeepEqual(batch.Items, []int{2}) {
		t.Fatalf("apart %v, left %v", apart, batch.Items)
	}
	batch.Done()
	expect(t, b, 12)
	apart[1].Done()
	expect(t, b, 13)
	apart[0].Done()
	expect(t, b, 11)
	if again := batch.Split(func(int) bool { return true }); len(again) != 1 || len(batch.Items) != 0 {
		t.Errorf("%d apart, left %v", len(again), batch.Items)
	}
	batch.Done() // of nothing
}

func TestNextEndsWithContext(t *testing.T) {
	b := NewBatches[int](BatchOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan *Batch[int])
	go func() { done <- b.Next(ctx) }()
	cancel()
	if batch := <-done; batch != nil {
		t.Errorf("a batch of nothing: %v", batch.Items)
	}
}

// Several workers: nothing is lost or doubled, and a camera's items keep their order.
func TestBatchesOfManyWorkers(t *testing.T) {
	const cameras, each, workers = 5, 200, 3
	b := NewBatches[int](BatchOptions{Limit: each, Most: 3, Wait: 100 * time.Microsecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	last := map[int]int{}
	left := cameras * each
	for range workers {
		wg.Go(func() {
			for batch := b.Next(ctx); batch != nil; batch = b.Next(ctx) {
				mu.Lock()
				for _, item := range batch.Items {
					if camera, n := item/1000, item%1000; n != last[camera] {
						t.Errorf("camera %d: item %d after %d", camera, n, last[camera]-1)
					} else {
						last[camera]++
					}
				}
				if left -= len(batch.Items); left == 0 {
					cancel()
				}
				mu.Unlock()
				batch.Done()
			}
		})
	}
	for n := range each {
		for c := range cameras {
			push(t, b, string(rune('a'+c)), c*1000+n)
		}
	}
	wg.Wait()
	if left != 0 {
		t.Errorf("%d items are missing", left)
	}
}
