// Package detect is the stage that finds faces in whole frames.
//
// It passes every frame on. It looks for faces on every k-th frame of a camera, those of different cameras at different
// times, on its first one, and at once after the tracker has lost somebody; in between the landmarks stage follows the faces that it knows. Over a longer
// time than ipc.FollowNS it cannot, so a camera below two frames a second is looked at on every frame.
package detect

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/vision"
)

type detector struct {
	env      *stage.Env
	links    *links.Set
	schedule *schedule
	batches  *queue.Batches[ipc.Frame]
	tuned    atomic.Pointer[config.Config] // whose thresholds are in effect
	onGPUs   atomic.Pointer[[]*onGPU]      // nil on the CPU
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	d := &detector{
		env: env, links: links.New(env), schedule: newSchedule(cfg.Detect.Every, cfg.Cameras),
		batches: queue.NewBatches[ipc.Frame](queue.BatchOptions{Limit: cfg.Detect.MaxQueue, First: cfg.FirstCameras()}),
	}
	d.tuned.Store(&cfg)
	d.batches.Hurry(d.schedule.idle) // only networks gain from more frames at once
	defer func() { _ = d.links.Close() }()
	crew := d.crew()
	defer func() { _ = crew.Close() }()
	if err := crew.Open(ctx); err != nil {
		return err
	}
	env.Log.Info("detector ready", "model", cfg.Detect.Model, "backend", crew.Backend())
	if err := d.links.Accept(ctx); err != nil {
		return err
	}
	if err := d.subscribe(); err != nil {
		return err
	}
	defer env.Follow(ctx, stage.Follower{Apply: d.apply, Forget: d.forget})()
	env.Ready()
	passing, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { d.batches.EachHurried(passing, d.passOn) })
	defer beside.Wait()
	defer stop()
	return crew.Run(ctx, func(working context.Context, l looker) {
		d.batches.Each(working, d.apart(l), func(frames []ipc.Frame) { d.frames(ctx, l, frames) })
	})
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

// passOn passes frames on that need not be looked at, while networks are busy with others.
func (d *detector) passOn(frames []ipc.Frame) {
	defer d.env.Vigil.Begin()()
	begin := clock.Now()
	for _, f := range frames {
		d.schedule.skip(&f)
		d.pass(ipc.Detections{Frame: f, Faces: []ipc.Detection{}}, begin)
	}
}

// frames passes frames on, with the faces in those whose turn it is to be looked at.
func (d *detector) frames(ctx context.Context, l looker, frames []ipc.Frame) {
	defer d.env.Vigil.Begin()()
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
