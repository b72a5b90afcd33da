// Package landmarks is the stage that turns faces into points, blendshapes and a descriptor of their looks.
//
// A face that was found in the last frame of a camera is looked for around its own points: no detection is
// needed for it. Detections that no known face covers are new faces. After a restart of this stage the
// tracker's last result says where the faces are.
package landmarks

import (
	"context"
	"sync"
	"sync/atomic"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/topology"
)

type landmarks struct {
	env      *stage.Env
	links    *links.Set
	batches  *queue.Batches[ipc.Detections]
	feedback *feedback
	book     *book
	limits   atomic.Pointer[config.Landmarks] // in effect
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	l := &landmarks{
		env: env, links: links.New(env), feedback: newFeedback(), book: newBook(),
		batches: queue.NewBatches[ipc.Detections](queue.BatchOptions{Limit: cfg.Landmarks.MaxQueue, First: cfg.FirstCameras()}),
	}
	l.limits.Store(&cfg.Landmarks)
	defer func() { _ = l.links.Close() }()
	crew := l.crew()
	defer func() { _ = crew.Close() }()
	if err := crew.Open(ctx); err != nil {
		return err
	}
	env.Log.Info("landmarks ready", "model", cfg.Landmarks.Model, "backend", crew.Backend())
	if err := l.links.Accept(ctx); err != nil {
		return err
	}
	if err := l.subscribe(); err != nil {
		return err
	}
	defer env.Follow(ctx, stage.Follower{Apply: l.apply, Forget: l.forget})()
	env.Ready()
	return crew.Run(ctx, func(working context.Context, f finder) {
		l.batches.Each(working, l.apart(f), func(frames []ipc.Detections) { l.frames(ctx, f, frames) })
	})
}

// apply takes a changed configuration over between two frames.
func (l *landmarks) apply(_, to config.Config) error {
	l.limits.Store(&to.Landmarks)
	l.batches.Prefer(to.FirstCameras())
	return nil
}

// forget gives up what is known of a camera that was removed.
func (l *landmarks) forget(camera string) {
	l.links.Forget(camera)
	l.batches.Forget(camera)
	l.book.forget(camera)
	l.feedback.forget(camera)
}

func (l *landmarks) subscribe() error {
	_, err := l.env.Subscribe(ipc.KindDetections, func(data []byte) {
		d, err := ipc.DecodeDetections(data)
		if err != nil {
			l.env.Log.Warn("detections message ignored", "error", err)
			return
		}
		if old, dropped := l.batches.Push(d.Camera, d); dropped {
			l.env.Drop(old.Frame, links.ReasonQueueFull)
		}
	})
	if err != nil {
		return err
	}
	_, err = l.env.Subscribe(ipc.KindTracks, l.feedback.keep)
	return err
}

// frames finds the points of every face of frames of different cameras and passes them on.
func (l *landmarks) frames(ctx context.Context, finder finder, frames []ipc.Detections) {
	defer l.env.Vigil.Begin()()
	begin := clock.Now()
	candidates := make([][]candidate, len(frames))
	var looks []look
	var index []int
	for i, d := range frames {
		state, first := l.book.of(d.Camera)
		if first {
			state.restore(l.feedback.take(d.Camera), d.TimeNS())
		}
		state.limit = l.limits.Load().MaxFaces
		if candidates[i] = state.candidates(d); len(candidates[i]) > 0 {
			looks, index = append(looks, look{d.Frame, rois(candidates[i])}), append(index, i)
			continue
		}
		l.pass(d, finder.Topology(), nil, found{}, begin) // nobody to look for: no pixels are needed
	}
	if len(looks) == 0 {
		return
	}
	var passing sync.WaitGroup // a message takes longer to write than a face's share of a batch on the GPU
	for k, f := range finder.find(ctx, looks) {
		passing.Go(func() {
			d := frames[index[k]]
			if f.reason != "" {
				l.env.Log.Debug("frame dropped", "camera", d.Camera, "seq", d.Seq, "reason", f.reason, "error", f.err)
				l.env.Drop(d.Frame, f.reason)
				return
			}
			l.pass(d, finder.Topology(), candidates[index[k]], f, begin)
		})
	}
	passing.Wait()
}

func (l *landmarks) pass(d ipc.Detections, set *topology.Topology, from []candidate, f found, begin int64) {
	state, _ := l.book.of(d.Camera)
	out := ipc.Landmarks{Frame: d.Frame, Topology: set.Name}
	out.Faces = state.keep(d.TimeNS(), from, f, l.limits.Load().MinPresence)
	out.Stamps.Landmarks = clock.Now()
	if err := l.env.Publish(d.Camera, ipc.KindLandmarks, &out); err != nil {
		l.env.Drop(d.Frame, links.ReasonBus)
		return
	}
	l.env.Telemetry.Frame(d.Camera, len(out.Faces), clock.Since(begin), clock.Since(d.CaptureNS))
}
