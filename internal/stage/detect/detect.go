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
	pool     *queue.Pool[ipc.Frame]
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	cfg := env.Config
	d := &detector{
		env: env, links: links.New(env), schedule: newSchedule(cfg.Detect.Every),
		pool: queue.NewPool[ipc.Frame](cfg.WorkerCount(), cfg.Detect.MaxQueue),
	}
	defer func() { _ = d.links.Close() }()
	nets := make([]*networks.Detector, 0, d.pool.Workers())
	defer func() {
		for _, n := range nets {
			_ = n.Close()
		}
	}()
	for range d.pool.Workers() {
		n, err := networks.OpenDetector(cfg)
		if err != nil {
			return stage.Permanent(err)
		}
		nets = append(nets, n)
	}
	env.Telemetry.Backend(nets[0].Backend())
	env.Log.Info("detector ready", "model", cfg.Detect.Model, "backend", nets[0].Backend())
	if err := d.subscribe(); err != nil {
		return err
	}
	env.Ready()
	var workers sync.WaitGroup
	for w, network := range nets {
		workers.Go(func() { d.pool.Run(ctx, w, func(f ipc.Frame) { d.frame(ctx, network, f) }) })
	}
	workers.Wait()
	return nil
}

func (d *detector) subscribe() error {
	_, err := d.env.Subscribe(ipc.KindFrame, func(data []byte) {
		f, err := ipc.DecodeFrame(data)
		if err != nil {
			d.env.Log.Warn("frame message ignored", "error", err)
			return
		}
		if old, dropped := d.pool.Push(f.Camera, f); dropped {
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

// frame passes one frame on, with the faces in it when it is its turn to be looked at.
func (d *detector) frame(ctx context.Context, network *networks.Detector, f ipc.Frame) {
	begin := clock.Now()
	out := ipc.Detections{Frame: f, Faces: []ipc.Detection{}}
	if d.schedule.turn(&f) {
		var faces []vision.Face
		reason, err := d.links.With(ctx, &f, func(image vision.Image) (err error) {
			faces, err = network.Detect(image)
			return err
		})
		if err != nil {
			d.schedule.lost(f.Camera) // the next frame takes this one's turn
			d.env.Log.Debug("frame dropped", "camera", f.Camera, "seq", f.Seq, "reason", reason, "error", err)
			d.env.Drop(f, reason)
			return
		}
		out.Ran, out.Detector, out.Faces = true, d.env.Config.Detect.Model, detections(faces)
	}
	out.Stamps.Detect = clock.Now()
	if err := d.env.Publish(f.Camera, ipc.KindDetections, &out); err != nil {
		d.env.Drop(f, links.ReasonBus)
		return
	}
	d.env.Telemetry.Frame(f.Camera, len(out.Faces), clock.Since(begin), clock.Since(f.CaptureNS))
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
