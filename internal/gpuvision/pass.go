package gpuvision

import (
	"errors"
	"fmt"
	"log/slog"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/internal/cuda/captured"
)

// pass is one way through the GPU on fixed addresses: items go up, kernels run, records come down. For some numbers of items that is one
// graph each, copies included, so that a run is one call of the driver.
type pass struct {
	sizes
	stream   *cuda.Stream
	memory   *cuda.Memory
	host     *cuda.Pinned
	up, down []byte
	beside   *beside
	graphs   *captured.Set
	kernels  func(stream *cuda.Stream, n int) error
	most     int

	items, between, records uint64 // addresses
}

// sizes are bytes: of an item, of a record, and of what kernels keep between them for n items.
type sizes struct {
	item, record int
	between      func(n int) int64
}

// supply is where memory is from: a *cuda.Context.
type supply interface {
	Alloc(bytes int64) (*cuda.Memory, error)
	AllocPinned(bytes int) (*cuda.Pinned, error)
}

// newPass makes room for most items, or a half, a quarter, … of that, whatever there is memory for. kernels is not called before it returns.
func newPass(ctx *cuda.Context, s sizes, most int, kernels func(*cuda.Stream, int) error, log *slog.Logger) (p *pass, err error) {
	p = &pass{sizes: s, kernels: kernels, most: most}
	if err = p.allocate(ctx, log); err == nil {
		p.graphs, err = captured.New(ctx, p.launch, log)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pass) allocate(ctx *cuda.Context, log *slog.Logger) (err error) {
	if p.stream, err = ctx.NewStream(); err != nil {
		return err
	}
	if p.beside, err = newBeside(ctx); err != nil {
		return err
	}
	return p.fit(ctx, log)
}

// fit halves the batch until there is memory for it.
func (p *pass) fit(from supply, log *slog.Logger) error {
	wanted := p.most
	err := p.take(from)
	for ; errors.Is(err, cuda.OutOfMemory) && p.most > 1; err = p.take(from) {
		p.most /= 2
	}
	if err != nil {
		return err
	}
	if p.most < wanted {
		log.Warn("not enough memory for this batch size: a smaller one is used", "wanted", wanted, "used", p.most)
	}
	for _, address := range []*uint64{&p.items, &p.between, &p.records} {
		*address += p.memory.Address()
	}
	p.up, p.down = p.host.Bytes()[:p.most*p.item], p.host.Bytes()[p.most*p.item:]
	return nil
}

// take takes device memory and page-locked memory for the most items, or neither.
func (p *pass) take(from supply) (err error) {
	if p.memory, err = from.Alloc(p.layOut()); err != nil {
		return fmt.Errorf("memory for a batch of %d: %w", p.most, err)
	}
	if p.host, err = from.AllocPinned(p.most * (p.item + p.record)); err != nil {
		err = errors.Join(fmt.Errorf("page-locked memory for a batch of %d: %w", p.most, err), p.memory.Close())
		p.memory = nil
	}
	return err
}

// layOut sets the addresses from the beginning of the memory on, and returns how much there has to be.
func (p *pass) layOut() int64 {
	p.items = 0
	p.between = aligned(uint64(p.most * p.item))
	p.records = aligned(p.between + uint64(p.sizes.between(p.most)))
	return int64(p.records) + int64(p.most*p.record)
}

// aligned is what the driver's own allocations are.
func aligned(bytes uint64) uint64 { return (bytes + 255) / 256 * 256 }

func (p *pass) launch(stream *cuda.Stream, n int) error {
	if err := stream.Upload(p.items, p.up[:n*p.item]); err != nil {
		return err
	}
	if err := p.kernels(stream, n); err != nil {
		return err
	}
	return stream.Download(p.down[:n*p.record], p.records)
}

// run brings the first n items of up through, and returns when their records are down. Every size would need a graph of its own: what is missing to
// the next one that has one is filled up with the first item.
func (p *pass) run(n int) error {
	whole := p.rounded(n)
	for i := n; i < whole; i++ {
		copy(p.up[i*p.item:][:p.item], p.up)
	}
	err := p.graphs.Launch(p.stream, whole)
	return errors.Join(err, p.stream.Synchronize()) // whatever failed: nothing may read the frames any more
}

// rounded is the least size of a graph that n items fit in: 1, 2, 3, 4, 6, 8, 12, 16, … and the most.
func (p *pass) rounded(n int) int {
	for size := 1; ; size *= 2 {
		for _, step := range []int{size, size + size/2} {
			if step >= n || step >= p.most {
				return min(step, p.most)
			}
		}
	}
}

// prepare returns when runs of any size are one graph.
func (p *pass) prepare() error {
	for n := 1; n <= p.most; n = p.rounded(n) + 1 {
		if err := p.capture(n); err != nil {
			return err
		}
	}
	return nil
}

// both queues two pieces of work that are independent of each other: at the same time in a graph, else one after the other.
func (p *pass) both(stream *cuda.Stream, one, other func(*cuda.Stream) error) error {
	if stream != p.stream {
		return p.beside.both(stream, one, other)
	}
	if err := one(stream); err != nil {
		return err
	}
	return other(stream)
}

// capture returns when runs of n items are one graph.
func (p *pass) capture(n int) error {
	if n < 1 || n > p.most {
		return fmt.Errorf("%w: batch of %d; there is memory for 1 to %d", infer.ErrBadInput, n, p.most)
	}
	return p.graphs.Capture(p.rounded(n))
}

// of is record i.
func (p *pass) of(i int) []byte { return p.down[i*p.record : (i+1)*p.record] }

func (p *pass) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.graphs.Close(), p.stream.Close(), p.beside.close(), p.host.Close(), p.memory.Close())
}
