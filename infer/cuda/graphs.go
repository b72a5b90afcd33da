package gpu

import (
	"errors"
	"log/slog"
	"sync"

	"facetrack/internal/cuda"
)

// graphs captures the launches of each batch size once, on a stream of its own and in the background, so that nobody waits for it.
type graphs struct {
	stream *cuda.Stream
	runner run
	log    *slog.Logger

	mu     sync.Mutex
	ready  map[int]*cuda.Graph // by batch size; nil while it is to be captured, and when that failed
	queue  []int               // to be captured
	busy   bool                // a goroutine captures
	closed bool
	done   sync.WaitGroup
}

func newGraphs(ctx *cuda.Context, r run, log *slog.Logger) (*graphs, error) {
	stream, err := ctx.NewStream()
	if err != nil {
		return nil, err
	}
	g := &graphs{stream: stream, runner: r, log: log, ready: map[int]*cuda.Graph{}}
	g.runner.stream = stream
	return g, nil
}

// of is the graph of a batch size, nil as long as there is none: the first call has it captured.
func (g *graphs) of(batch int) *cuda.Graph {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	graph, known := g.ready[batch]
	if known || g.closed {
		return graph
	}
	g.ready[batch] = nil
	g.queue = append(g.queue, batch)
	if !g.busy {
		g.busy = true
		g.done.Add(1)
		go g.work()
	}
	return nil
}

// work captures until nothing is left to do.
func (g *graphs) work() {
	defer g.done.Done()
	for {
		batch, ok := g.next()
		if !ok {
			return
		}
		graph, err := g.capture(batch)
		if err != nil {
			g.log.Warn("no CUDA graph for this batch size: its kernels are launched one by one", "batch", batch, "error", err)
			continue
		}
		g.mu.Lock()
		g.ready[batch] = graph
		g.mu.Unlock()
	}
}

func (g *graphs) next() (batch int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 || g.closed {
		g.busy = false
		return 0, false
	}
	batch, g.queue = g.queue[0], g.queue[1:]
	return batch, true
}

func (g *graphs) capture(batch int) (*cuda.Graph, error) {
	if err := g.stream.BeginCapture(); err != nil {
		return nil, err
	}
	r := g.runner
	r.batch = batch
	failed := r.launch()
	graph, err := g.stream.EndCapture() // also after a failure: the stream must not stay in capture
	if failed != nil {
		return nil, errors.Join(failed, graph.Close())
	}
	return graph, err
}

// wait returns when no capture is under way or wanted.
func (g *graphs) wait() { g.done.Wait() }

// close ends the capture under way and frees all graphs.
func (g *graphs) close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wait()
	var all []error
	for _, graph := range g.ready {
		all = append(all, graph.Close())
	}
	return errors.Join(append(all, g.stream.Close())...)
}
