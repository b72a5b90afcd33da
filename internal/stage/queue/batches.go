package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// BatchOptions shape batches.
type BatchOptions struct {
	Limit int                      // of a camera's waiting items; the oldest makes room for a new one
	Most  int                      // items of a batch
	Wait  time.Duration            // how long an item waits for those of other cameras; 0: it does not
	Eager bool                     // nor does it while no batch is worked on
	First func(camera string) bool // cameras that go first when more wait than a batch takes; nil: none
}

// Batches collects the items of several cameras for workers that handle many at once. A batch has at most one item of a
// camera, and the camera's next one waits until that batch is done: what comes of one frame is needed for the next.
//
// A batch is due when it is full, when every camera that is awake has an item in it, or when an item has waited long enough; with
// Eager also when no other batch is worked on.
type Batches[T any] struct {
	opts   BatchOptions
	hurry  func(T) bool  // see Hurry
	asleep time.Duration // how long a camera is silent until nobody waits for it any more

	mu      sync.Mutex
	working int // batches that were taken and are not done, but for those that nobody waits behind
	lines   map[string]*line[T]
	changed chan struct{} // closed and made anew whenever a batch may have become due
}

type line[T any] struct {
	camera string
	items  []waiting[T]
	busy   bool
	pushed time.Time // when the last item came
}

type waiting[T any] struct {
	item  T
	since time.Time
}

// NewBatches returns empty lines.
func NewBatches[T any](opts BatchOptions) *Batches[T] {
	opts.Limit, opts.Most = max(1, opts.Limit), max(1, opts.Most)
	if opts.First == nil {
		opts.First = func(string) bool { return false }
	}
	const asleep = 200 * time.Millisecond // some frames of a slow camera
	return &Batches[T]{
		opts: opts, asleep: asleep, lines: map[string]*line[T]{}, changed: make(chan struct{}), hurry: func(T) bool { return false },
	}
}

// Hurry names items that wait for no others, because working on many of them at once is of no use. It is called before the first Push.
func (b *Batches[T]) Hurry(which func(T) bool) { b.hurry = which }

// Shape changes how many items a batch has at most, and how they wait for those of other cameras, as in BatchOptions.
func (b *Batches[T]) Shape(most int, wait time.Duration, eager bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.Most, b.opts.Wait, b.opts.Eager = max(1, most), wait, eager
	b.wake()
}

// Prefer changes which cameras go first, as in BatchOptions.
func (b *Batches[T]) Prefer(first func(camera string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.First = first
}

// Forget gives up the line of a camera that is not to come again; one with items stays.
func (b *Batches[T]) Forget(camera string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lines[camera]; l != nil && len(l.items) == 0 && !l.busy {
		delete(b.lines, camera)
	}
}

// Push adds an item and returns the one that had to make room, if any.
func (b *Batches[T]) Push(camera string, item T) (evicted T, dropped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[camera]
	if l == nil {
		l = &line[T]{camera: camera}
		b.lines[camera] = l
	}
	l.pushed = time.Now()
	if len(l.items) >= b.opts.Limit {
		evicted, dropped = l.items[0].item, true
		l.items = l.items[1:]
	}
	l.items = append(l.items, waiting[T]{item, l.pushed})
	b.wake()
	return evicted, dropped
}

func (b *Batches[T]) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Next waits for a batch; nil when ctx is done. Its cameras are busy until Done.
func (b *Batches[T]) Next(ctx context.Context) *Batch[T] { return b.next(ctx, b.take) }

// NextHurried is Next for the items that Hurry names and no others, so that they need not wait for a worker either.
func (b *Batches[T]) NextHurried(ctx context.Context) *Batch[T] { return b.next(ctx, b.takeHurried) }

func (b *Batches[T]) next(ctx context.Context, take func(now time.Time) (*Batch[T], <-chan struct{}, time.Duration)) *Batch[T] {
	for {
		batch, changed, due := take(time.Now())
		if batch != nil {
			return batch
		}
		var timer <-chan time.Time // nil: only an item can make a batch due
		if due > 0 {
			timer = time.After(due)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-timer:
		}
	}
}

// Batch is what a worker handles at once.
type Batch[T any] struct {
	Items  []T
	from   *Batches[T]
	lines  []*line[T]
	beside bool // others do not wait while it is worked on
}

// Done lets the next items of the batch's cameras go.
func (b *Batch[T]) Done() {
	b.from.mu.Lock()
	defer b.from.mu.Unlock()
	for _, l := range b.lines {
		l.busy = false
	}
	if !b.beside {
		b.from.working--
	}
	b.from.wake()
}

// take returns a batch, or what to wait for: a change, and a time if one makes a batch due.
func (b *Batches[T]) take(now time.Time) (batch *Batch[T], changed <-chan struct{}, due time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready, awake := b.ready(now)
	if len(ready) == 0 {
		return nil, b.changed, 0
	}
	oldest := slices.MinFunc(ready, byAge[T])
	due = b.opts.Wait - now.Sub(oldest.items[0].since)
	if len(ready) < min(awake, b.opts.Most) && due > 0 && (!b.opts.Eager || b.working > 0) {
		if ready = b.hurried(ready); len(ready) == 0 {
			return nil, b.changed, due
		}
	}
	b.working++
	return b.batch(ready), nil, 0
}

// takeHurried is take for items that wait for nobody; only a change can bring one.
func (b *Batches[T]) takeHurried(now time.Time) (batch *Batch[T], changed <-chan struct{}, due time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready, _ := b.ready(now)
	if ready = b.hurried(ready); len(ready) == 0 {
		return nil, b.changed, 0
	}
	batch = b.batch(ready)
	batch.beside = true
	return batch, nil, 0
}

func (b *Batches[T]) hurried(ready []*line[T]) []*line[T] {
	return slices.DeleteFunc(ready, func(l *line[T]) bool { return !b.hurry(l.items[0].item) })
}

// batch takes the first item of each line, of the oldest if there are more than a batch takes.
func (b *Batches[T]) batch(ready []*line[T]) *Batch[T] {
	slices.SortFunc(ready, func(x, y *line[T]) int {
		return cmp.Or(rank(b.opts.First(x.camera))-rank(b.opts.First(y.camera)), byAge(x, y))
	})
	batch := &Batch[T]{from: b, lines: ready[:min(len(ready), b.opts.Most)]}
	for _, l := range batch.lines {
		batch.Items = append(batch.Items, l.items[0].item)
		l.items, l.busy = l.items[1:], true
	}
	return batch
}

// ready are the lines that could be in a batch now; awake is how many there could be soon.
func (b *Batches[T]) ready(now time.Time) (ready []*line[T], awake int) {
	for _, l := range b.lines {
		if l.busy {
			continue
		}
		if len(l.items) > 0 {
			ready = append(ready, l)
		}
		if len(l.items) > 0 || now.Sub(l.pushed) < b.asleep {
			awake++
		}
	}
	return ready, awake
}

func byAge[T any](x, y *line[T]) int {
	return cmp.Or(x.items[0].since.Compare(y.items[0].since), cmp.Compare(x.camera, y.camera))
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}
