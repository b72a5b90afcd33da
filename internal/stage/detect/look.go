package detect

import (
	"context"
	"sync"
	"sync/atomic"

	"facetrack/internal/config"
	"facetrack/internal/gpuvision"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/workers"
	"facetrack/ipc"
	"facetrack/vision"
)

// looker finds the faces of several frames, one a camera.
type looker interface {
	look(ctx context.Context, frames []ipc.Frame) []sight
	workers.Worker
}

// sight is what was seen in a frame; with a reason to drop it, nothing was.
type sight struct {
	faces  []vision.Face
	reason string
	err    error
}

func (d *detector) crew() *workers.Crew[looker] {
	return &workers.Crew[looker]{Env: d.env, GPU: d.openGPU, CPU: d.openHost, Shape: d.batches.Shape}
}

// openHost makes a looker for each worker.
func (d *detector) openHost() (lookers []looker, err error) {
	d.onGPUs.Store(nil) // lost, if there were any
	for range d.env.Config.WorkerCount() {
		n, err := networks.OpenDetector(*d.config())
		if err != nil {
			return lookers, err
		}
		lookers = append(lookers, &onHost{Detector: n, links: d.links, wanted: &d.tuned, tuned: d.tuned.Load()})
	}
	return lookers, nil
}

// onHost looks at one frame after the other, in host memory. It is used by one goroutine at a time.
type onHost struct {
	*networks.Detector
	links  *links.Set
	wanted *atomic.Pointer[config.Config]
	tuned  *config.Config // whose thresholds are in effect here
}

func (h *onHost) look(ctx context.Context, frames []ipc.Frame) []sight {
	if c := h.wanted.Load(); c != h.tuned {
		h.Tune(*c)
		h.tuned = c
	}
	sights := make([]sight, len(frames))
	for i := range frames {
		s := &sights[i]
		s.reason, s.err = h.links.With(ctx, &frames[i], func(image vision.Image) (err error) {
			s.faces, err = h.Detect(image)
			return err
		})
	}
	return sights
}

func (d *detector) openGPU(health *workers.Health) (lookers []looker, err error) {
	cfg := *d.config()
	all, err := networks.OpenGPUDetectors(cfg, cfg.GPUWorkerCount(), d.env.Log)
	var onGPUs []*onGPU
	for _, n := range all {
		g := &onGPU{GPUDetector: n, links: d.links, turn: workers.Turn{Health: health}}
		lookers, onGPUs = append(lookers, g), append(onGPUs, g)
	}
	d.onGPUs.Store(&onGPUs)
	return lookers, err
}

// onGPU looks at all frames at once, where they are.
type onGPU struct {
	networks.GPUDetector
	links *links.Set
	turn  workers.Turn

	mu     sync.Mutex
	next   *networks.GPUDetector // takes over with the next batch; nil: the one there stays
	closed bool

	closing sync.WaitGroup // of those before
}

func (g *onGPU) look(ctx context.Context, frames []ipc.Frame) []sight {
	g.renew()
	sights := make([]sight, len(frames))
	outcomes := g.links.WithAll(ctx, frames, g.GPU, func(held []*links.Held, at []int) ([]error, error) {
		batch := make([]gpuvision.Frame, len(held))
		for k, h := range held {
			batch[k] = h.Frame()
		}
		var seen []gpuvision.Sight
		err := g.turn.Take(func() (err error) {
			seen, err = g.Detect(batch)
			return err
		})
		each := make([]error, len(seen))
		for k, s := range seen {
			sights[at[k]].faces, each[k] = s.Faces, s.Err
		}
		return each, err
	})
	for i, o := range outcomes {
		sights[i].reason, sights[i].err = o.Reason, o.Err
	}
	return sights
}

// apart tells which frames the others of their batch should not wait for: those whose camera has yet to be attached to. On the
// CPU frames come alone.
func (d *detector) apart(l looker) func(ipc.Frame) bool {
	if _, ok := l.(*onGPU); !ok {
		return nil
	}
	return func(f ipc.Frame) bool { return !d.links.Prompt(&f) }
}
