package landmarks

import (
	"context"

	"facetrack/internal/gpuvision"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/workers"
	"facetrack/ipc"
	"facetrack/topology"
	"facetrack/vision"
)

// finder finds the points of the faces in several frames, one a camera.
type finder interface {
	find(ctx context.Context, looks []look) []found
	Topology() *topology.Topology
	workers.Worker
}

// look is a frame with the regions to look at.
type look struct {
	frame ipc.Frame
	rois  []vision.ROI
}

// found is one result for each region of a look; with a reason to drop the frame there is none.
type found struct {
	results []vision.FaceResult
	places  []*place // of the results, as far as they are known already
	reason  string
	err     error
}

// place is where to look for the face of a result in the next frame.
func (f found) place(i int) (place, error) {
	if f.places != nil && f.places[i] != nil {
		return *f.places[i], nil
	}
	return placeOf(f.results[i].Points)
}

func (l *landmarks) crew() *workers.Crew[finder] {
	return &workers.Crew[finder]{Env: l.env, GPU: l.openGPU, CPU: l.openHost, Shape: l.batches.Shape}
}

// leastPresence is that of faces which are looked at closely.
func (l *landmarks) leastPresence() float64 {
	return min(l.env.Config.Landmarks.MinPresence, vouchedPresence)
}

// openHost makes a finder for each worker.
func (l *landmarks) openHost() (finders []finder, err error) {
	for range l.env.Config.WorkerCount() {
		n, err := networks.OpenLandmarks(l.env.Config, l.leastPresence())
		if err != nil {
			return finders, err
		}
		finders = append(finders, &onHost{n, l.links})
	}
	return finders, nil
}

// onHost looks at one frame after the other, in host memory. It is used by one goroutine at a time.
type onHost struct {
	*networks.Landmarks
	links *links.Set
}

func (h *onHost) find(ctx context.Context, looks []look) []found {
	all := make([]found, len(looks))
	for i := range looks {
		f := &all[i]
		f.reason, f.err = h.links.With(ctx, &looks[i].frame, func(image vision.Image) (err error) {
			f.results, err = h.Run(image, looks[i].rois)
			return err
		})
	}
	return all
}

func (l *landmarks) openGPU(health *workers.Health) (finders []finder, err error) {
	all, err := networks.OpenGPULandmarks(l.env.Config, l.leastPresence(), l.env.Config.GPUWorkerCount(), l.env.Log)
	for _, n := range all {
		finders = append(finders, &onGPU{GPULandmarks: n, links: l.links, turn: workers.Turn{Health: health}})
	}
	return finders, err
}

// onGPU looks at the faces of all frames at once, where they are.
type onGPU struct {
	networks.GPULandmarks
	links *links.Set
	turn  workers.Turn
}

func (g *onGPU) find(ctx context.Context, looks []look) []found {
	frames := make([]ipc.Frame, len(looks))
	for i := range looks {
		frames[i] = looks[i].frame
	}
	all := make([]found, len(looks))
	outcomes := g.links.WithAll(ctx, frames, g.GPU, func(held []*links.Held, at []int) ([]error, error) {
		batch := make([]gpuvision.Look, len(held))
		for k, h := range held {
			batch[k] = gpuvision.Look{Frame: h.Frame(), ROIs: looks[at[k]].rois}
		}
		var seen []gpuvision.Found
		err := g.turn.Take(func() (err error) {
			seen, err = g.Find(batch)
			return err
		})
		each := make([]error, len(seen))
		for k, s := range seen {
			all[at[k]].take(s)
			each[k] = s.Err
		}
		return each, err
	})
	for i, o := range outcomes {
		all[i].reason, all[i].err = o.Reason, o.Err
	}
	return all
}

// take keeps the places that the GPU has computed as well.
func (f *found) take(seen gpuvision.Found) {
	for _, r := range seen.Faces {
		var p *place
		if r.HasNext {
			p = &place{r.Region, r.Box}
		}
		f.results, f.places = append(f.results, r.FaceResult), append(f.places, p)
	}
}

// apart tells which frames the others of their batch should not wait for: those whose camera has yet to be attached to. On the
// CPU frames come alone.
func (l *landmarks) apart(f finder) func(ipc.Detections) bool {
	if _, ok := f.(*onGPU); !ok {
		return nil
	}
	return func(d ipc.Detections) bool { return !l.links.Prompt(&d.Frame) }
}
