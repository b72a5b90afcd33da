package queue

import (
	"context"
	"sync"
)

// Each hands every batch to handle until ctx is done. Items that apart tells, because others should not have to wait for them,
// are handled beside the rest, each alone; handle is then called from several goroutines. A nil apart tells none.
func (b *Batches[T]) Each(ctx context.Context, apart func(T) bool, handle func([]T)) {
	var beside sync.WaitGroup
	defer beside.Wait()
	for batch := b.Next(ctx); batch != nil; batch = b.Next(ctx) {
		if apart != nil {
			for _, alone := range batch.Split(apart) {
				beside.Go(func() {
					handle(alone.Items)
					alone.Done()
				})
			}
		}
		if len(batch.Items) > 0 {
			handle(batch.Items)
		}
		batch.Done()
	}
}

// EachHurried hands every batch of items that wait for nobody to handle until ctx is done, beside those who work on the others.
func (b *Batches[T]) EachHurried(ctx context.Context, handle func([]T)) {
	for batch := b.NextHurried(ctx); batch != nil; batch = b.NextHurried(ctx) {
		handle(batch.Items)
		batch.Done()
	}
}

// Split takes the items that which tells out of the batch, each into a batch of its own, which nobody waits behind.
func (b *Batch[T]) Split(which func(T) bool) (out []*Batch[T]) {
	rest := &Batch[T]{}
	for i, item := range b.Items {
		if which(item) {
			out = append(out, &Batch[T]{Items: []T{item}, from: b.from, lines: b.lines[i : i+1], beside: true})
			continue
		}
		rest.Items, rest.lines = append(rest.Items, item), append(rest.lines, b.lines[i])
	}
	b.Items, b.lines = rest.Items, rest.lines
	return out
}
