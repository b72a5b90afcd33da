// Package detect is the stage that finds faces in whole frames.
//
// It passes every frame on. It looks for faces on every k-th frame of a camera, on its first one, and at once
// after the tracker has lost somebody; in between the landmarks stage follows the faces that it knows. Over a longer
// time than ipc.FollowNS it cannot, so a camera below two frames a second is looked at on every frame.
package detect

import (
	"bytes"
	"context"
	"sync"

	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/vision"
)

type detector struct {
	env      *stage.Env
	links    *links.Set
	schedule *schedule
	batches  *queue.Batches[ipc.Frame]
}

// looker finds the faces of several frames, one a camera. It is used by one goroutine at a time.
type looker interface {
	look(ctx context.Context, frames []ipc.Frame) []sight
	Backend() string
	Close() error
}

// sight is what was seen in a frame; with a reason to drop it, nothing was.
type sight struct {
	faces  []vision.Face
	reason string
	err    error
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	d := &detector{
		env: env, links: links.New(env), schedule: newSchedule(cfg.Detect.Every),
		batches: queue.NewBatches[ipc.Frame](queue.BatchOptions{Limit: cfg.Detect.MaxQueue, First: cfg.FirstCameras()}),
	}
	defer func() { _ = d.links.Close() }()
	lookers, err := d.open()
	defer func() {
		for _, l := range lookers {
			_ = l.Close()
		}
	}()
	if err != nil {
		return stage.Permanent(err)
	}
	env.Telemetry.Backend(lookers[0].Backend())
	env.Log.Info("detector ready", "model", cfg.Detect.Model, "backend", lookers[0].Backend())
	if err := d.subscribe(); err != nil {
		return err
	}
	env.Ready()
	var workers sync.WaitGroup
	for _, l := range lookers {
		workers.Go(func() {
			for b := d.batches.Next(ctx); b != nil; b = d.batches.Next(ctx) {
				d.frames(ctx, l, b.Items)
				b.Done()
			}
		})
	}
	workers.Wait()
	return nil
}

// open makes a looker for each worker; those that were made are to be closed also after an error.
func (d *detector) open() (lookers []looker, err error) {
	for range d.env.Config.WorkerCount() {
		n, err := networks.OpenDetector(d.env.Config)
		if err != nil {
			return lookers, err
		}
		lookers = append(lookers, &onHost{n, d.links})
	}
	return lookers, nil
}

// onHost looks at one frame after the other, in host memory.
type onHost struct {
	*networks.Detector
	links *links.Set
}

func (h *onHost) look(ctx context.Context, frames []ipc.Frame) []sight {
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

func (d *detector) subscribe() error {
	_, err := d.env.Subscribe(ipc.KindFrame, func(data []byte) {
		f, err := ipc.DecodeFrame(data)
		if err != nil {
			d.env.Log.Warn("frame message ignored", "error", err)
			return
		}
		if old, dropped := d.batches.Push(f.Camera, f); dropped {
			d.env.Drop(old, links.ReasonQueueFull)
		}
	})
	if err != nil {
		return err
	}
	_, err = d.env.Subscribe(ipc.KindTracks, func(data []byte) {
		if camera, lost := lostSomebody(data); lost {
			d.schedule.lost(camera)
		}
	})
	return err
}

// frames passes frames on, with the faces in those whose turn it is to be looked at.
func (d *detector) frames(ctx context.Context, l looker, frames []ipc.Frame) {
	begin := clock.Now()
	due := make([]ipc.Frame, 0, len(frames))
	for _, f := range frames {
		if d.schedule.turn(&f) {
			due = append(due, f)
			continue
		}
		d.pass(ipc.Detections{Frame: f, Faces: []ipc.Detection{}}, begin)
	}
	if len(due) == 0 {
		return
	}
	for i, s := range l.look(ctx, due) {
		f := due[i]
		if s.reason != "" {
			d.schedule.lost(f.Camera) // the next frame takes this one's turn
			d.env.Log.Debug("frame dropped", "camera", f.Camera, "seq", f.Seq, "reason", s.reason, "error", s.err)
			d.env.Drop(f, s.reason)
			continue
		}
		d.pass(ipc.Detections{Frame: f, Ran: true, Detector: d.env.Config.Detect.Model, Faces: detections(s.faces)}, begin)
	}
}

func (d *detector) pass(out ipc.Detections, begin int64) {
	out.Stamps.Detect = clock.Now()
	if err := d.env.Publish(out.Camera, ipc.KindDetections, &out); err != nil {
		d.env.Drop(out.Frame, links.ReasonBus)
		return
	}
	d.env.Telemetry.Frame(out.Camera, len(out.Faces), clock.Since(begin), clock.Since(out.CaptureNS))
}

func detections(faces []vision.Face) []ipc.Detection {
	out := make([]ipc.Detection, len(faces))
	for i, f := range faces {
		out[i] = ipc.Detection{Box: f.Box, Score: f.Score, KeyPoints: f.KeyPoints}
	}
	return out
}

// lostSomebody tells whether a tracks message names lost identities. Nearly none does: only those are decoded.
func lostSomebody(data []byte) (camera string, lost bool) {
	if !bytes.Contains(data, []byte(`"lost"`)) {
		return "", false
	}
	t, err := ipc.DecodeTracks(data)
	return t.Camera, err == nil && len(t.Lost) > 0
}
