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
	batches  *queue.Batches[ipc.Detections]
	feedback *feedback
	book     *book
}

// finder finds the points of the faces in several frames, one a camera. It is used by one goroutine at a time.
type finder interface {
	find(ctx context.Context, looks []look) []found
	PointCount() int
	Backend() string
	Close() error
}

// look is a frame with the regions to look at.
type look struct {
	frame ipc.Frame
	rois  []vision.ROI
}

// found is one result for each region of a look; with a reason to drop the frame there is none.
type found struct {
	results []vision.FaceResult
	reason  string
	err     error
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	l := &landmarks{
		env: env, links: links.New(env), feedback: newFeedback(), book: newBook(),
		batches: queue.NewBatches[ipc.Detections](queue.BatchOptions{Limit: cfg.Landmarks.MaxQueue, First: cfg.FirstCameras()}),
	}
	defer func() { _ = l.links.Close() }()
	finders, err := l.open()
	defer func() {
		for _, f := range finders {
			_ = f.Close()
		}
	}()
	if err != nil {
		return stage.Permanent(err)
	}
	env.Telemetry.Backend(finders[0].Backend())
	env.Log.Info("landmarks ready", "model", cfg.Landmarks.Model, "backend", finders[0].Backend())
	if err := l.subscribe(); err != nil {
		return err
	}
	env.Ready()
	var workers sync.WaitGroup
	for _, f := range finders {
		workers.Go(func() {
			for b := l.batches.Next(ctx); b != nil; b = l.batches.Next(ctx) {
				l.frames(ctx, f, b.Items)
				b.Done()
			}
		})
	}
	workers.Wait()
	return nil
}

// open makes a finder for each worker; those that were made are to be closed also after an error.
func (l *landmarks) open() (finders []finder, err error) {
	cfg := l.env.Config
	for range cfg.WorkerCount() {
		n, err := networks.OpenLandmarks(cfg, min(cfg.Landmarks.MinPresence, vouchedPresence))
		if err != nil {
			return finders, err
		}
		finders = append(finders, &onHost{n, l.links})
	}
	return finders, nil
}

// onHost looks at one frame after the other, in host memory.
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
	begin := clock.Now()
	candidates := make([][]candidate, len(frames))
	var looks []look
	var index []int
	for i, d := range frames {
		state, first := l.book.of(d.Camera, l.env.Config.Landmarks.MaxFaces)
		if first {
			state.restore(l.feedback.take(d.Camera), d.TimeNS())
		}
		if candidates[i] = state.candidates(d); len(candidates[i]) > 0 {
			looks, index = append(looks, look{d.Frame, rois(candidates[i])}), append(index, i)
			continue
		}
		l.pass(d, finder.PointCount(), nil, nil, begin) // nobody to look for: no pixels are needed
	}
	if len(looks) == 0 {
		return
	}
	for k, f := range finder.find(ctx, looks) {
		d := frames[index[k]]
		if f.reason != "" {
			l.env.Log.Debug("frame dropped", "camera", d.Camera, "seq", d.Seq, "reason", f.reason, "error", f.err)
			l.env.Drop(d.Frame, f.reason)
			continue
		}
		l.pass(d, finder.PointCount(), candidates[index[k]], f.results, begin)
	}
}

func (l *landmarks) pass(d ipc.Detections, points int, from []candidate, results []vision.FaceResult, begin int64) {
	state, _ := l.book.of(d.Camera, 0)
	out := ipc.Landmarks{Frame: d.Frame, Topology: topology(points)}
	out.Faces = state.keep(d.TimeNS(), from, results, l.env.Config.Landmarks.MinPresence)
	out.Stamps.Landmarks = clock.Now()
	if err := l.env.Publish(d.Camera, ipc.KindLandmarks, &out); err != nil {
		l.env.Drop(d.Frame, links.ReasonBus)
		return
	}
	l.env.Telemetry.Frame(d.Camera, len(out.Faces), clock.Since(begin), clock.Since(d.CaptureNS))
}

// topology names the order of the points.
func topology(points int) string { return fmt.Sprintf("mediapipe-%d", points) }
