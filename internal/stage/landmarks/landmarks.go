// Package landmarks is the stage that turns faces into points, blendshapes and a descriptor of their looks.
//
// A face that was found in the last frame of a camera is looked for around its own points: no detection is
// needed for it. Detections that no known face covers are new faces. After a restart of this stage the
// tracker's last result says where the faces are.
package landmarks

import (
	"context"
	"fmt"
	"sync"

	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/vision"
)

type landmarks struct {
	env      *stage.Env
	links    *links.Set
	pool     *queue.Pool[ipc.Detections]
	feedback *feedback
	models   []*networks.Landmarks // one a worker
	cameras  []map[string]*regions // one map a worker, touched by that worker alone
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	l := &landmarks{
		env: env, links: links.New(env), feedback: newFeedback(),
		pool: queue.NewPool[ipc.Detections](cfg.WorkerCount(), cfg.Landmarks.MaxQueue),
	}
	defer func() { _ = l.close() }()
	for range l.pool.Workers() {
		n, err := networks.OpenLandmarks(cfg, min(cfg.Landmarks.MinPresence, vouchedPresence))
		if err != nil {
			return stage.Permanent(err)
		}
		l.models = append(l.models, n)
		l.cameras = append(l.cameras, map[string]*regions{})
	}
	env.Telemetry.Backend(l.models[0].Backend())
	env.Log.Info("landmarks ready", "model", cfg.Landmarks.Model, "backend", l.models[0].Backend())
	if err := l.subscribe(); err != nil {
		return err
	}
	env.Ready()
	var workers sync.WaitGroup
	for w := range l.models {
		workers.Go(func() { l.pool.Run(ctx, w, func(d ipc.Detections) { l.frame(ctx, w, d) }) })
	}
	workers.Wait()
	return nil
}

func (l *landmarks) close() error {
	for _, n := range l.models {
		_ = n.Close()
	}
	return l.links.Close()
}

func (l *landmarks) subscribe() error {
	_, err := l.env.Subscribe(ipc.KindDetections, func(data []byte) {
		d, err := ipc.DecodeDetections(data)
		if err != nil {
			l.env.Log.Warn("detections message ignored", "error", err)
			return
		}
		if old, dropped := l.pool.Push(d.Camera, d); dropped {
			l.env.Drop(old.Frame, links.ReasonQueueFull)
		}
	})
	if err != nil {
		return err
	}
	_, err = l.env.Subscribe(ipc.KindTracks, l.feedback.keep)
	return err
}

// frame finds the points of every face of one frame and passes them on.
func (l *landmarks) frame(ctx context.Context, worker int, d ipc.Detections) {
	begin := clock.Now()
	state := l.cameras[worker][d.Camera]
	if state == nil {
		state = &regions{limit: l.env.Config.Landmarks.MaxFaces}
		state.restore(l.feedback.take(d.Camera), d.TimeNS())
		l.cameras[worker][d.Camera] = state
	}
	candidates := state.candidates(d)
	var results []vision.FaceResult
	if len(candidates) > 0 {
		reason, err := l.links.With(ctx, &d.Frame, func(image vision.Image) (err error) {
			results, err = l.models[worker].Run(image, rois(candidates))
			return err
		})
		if err != nil {
			l.env.Log.Debug("frame dropped", "camera", d.Camera, "seq", d.Seq, "reason", reason, "error", err)
			l.env.Drop(d.Frame, reason)
			return
		}
	}
	out := ipc.Landmarks{Frame: d.Frame, Topology: topology(l.models[worker].PointCount())}
	out.Faces = state.keep(d.TimeNS(), candidates, results, l.env.Config.Landmarks.MinPresence)
	out.Stamps.Landmarks = clock.Now()
	if err := l.env.Publish(d.Camera, ipc.KindLandmarks, &out); err != nil {
		l.env.Drop(d.Frame, links.ReasonBus)
		return
	}
	l.env.Telemetry.Frame(d.Camera, len(out.Faces), clock.Since(begin), clock.Since(d.CaptureNS))
}

// topology names the order of the points.
func topology(points int) string { return fmt.Sprintf("mediapipe-%d", points) }
