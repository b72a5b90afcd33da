// Package tracker is the stage that gives faces lasting identities, smooths them and fits their head poses.
//
// It keeps what it knows about the people of each camera in the rig's bucket, so that a tracker that is started again
// goes on with the same identities.
package tracker

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/fault"
	"facetrack/internal/hosts"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/topology"
	"facetrack/track"
)

// maxQueue is generous: a frame costs the tracker well under a millisecond.
const maxQueue = 64

// sameLooks is the least similarity of appearance by which somebody is known again: 99 % of pairs of different
// people in the clips tried were below 0.76, 99 % of pairs of one person above 0.82.
const sameLooks = 0.8

type tracker struct {
	env     *stage.Env
	acks    *ipc.Acker
	head    *track.PoseSolver
	now     atomic.Pointer[config.Config] // in effect
	pairs   *pairs
	hosts   *hosts.Hosts // nil unless this is a hub
	pool    *queue.Pool[message]
	cameras []map[string]*camera // one map a worker, touched by that worker alone
}

// message is a landmarks message, of which so far only the frame is known: the workers decode, each its own cameras' frames.
type message struct {
	frame ipc.Frame
	data  []byte // nil: nothing comes from this camera any more
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	head, err := networks.OpenHead(env.Config)
	if err != nil {
		return stage.Permanent(err)
	}
	pairs, err := newPairs(env)
	if err != nil {
		return stage.Permanent(err)
	}
	t := &tracker{
		env: env, pairs: pairs, head: head, acks: ipc.NewAcker(env.Bus, env.Config.Rig, env.Log),
		pool: queue.NewPool[message](runtime.NumCPU(), maxQueue),
	}
	t.now.Store(&env.Config)
	for range t.pool.Workers() {
		t.cameras = append(t.cameras, map[string]*camera{})
	}
	defer func() { _ = t.acks.Close() }()
	if err := t.join(ctx); err != nil {
		return err
	}
	defer func() { _ = t.hosts.Close() }()
	if _, err := env.Subscribe(ipc.KindLandmarks, t.receive); err != nil {
		return err
	}
	defer env.Follow(ctx, stage.Follower{Apply: t.apply, Forget: t.forget})()
	env.Ready()
	var workers sync.WaitGroup
	for w := range t.cameras {
		workers.Go(func() { t.pool.Run(ctx, w, func(m message) { t.message(ctx, w, m) }) })
	}
	workers.Wait()
	return nil
}

func (t *tracker) receive(data []byte) {
	f, err := ipc.PeekFrame(data)
	if err != nil {
		t.ignore(err)
		return
	}
	if old, dropped := t.pool.Push(f.Camera, message{f, data}); dropped && old.data != nil {
		t.env.Drop(old.frame, links.ReasonQueueFull)
	}
}

func (t *tracker) ignore(err error) { t.env.Log.Warn("landmarks message ignored", "error", err) }

func (t *tracker) message(ctx context.Context, worker int, m message) {
	if m.data == nil {
		delete(t.cameras[worker], m.frame.Camera)
		return
	}
	defer t.env.Vigil.Begin()()
	l, err := ipc.DecodeLandmarks(m.data)
	if err != nil {
		t.ignore(err)
		t.env.Drop(m.frame, links.ReasonBadFrame)
		return
	}
	t.frame(ctx, worker, l)
}

// frame tracks the faces of one frame and publishes them.
func (t *tracker) frame(ctx context.Context, worker int, l ipc.Landmarks) {
	begin := clock.Now()
	if fault.At("track") == "hang" {
		<-ctx.Done()
	}
	c := t.camera(ctx, worker, &l)
	now := t.now.Load()
	if c.now != now {
		c.now = now
		c.people.Configure(t.options(now, l.Camera))
	}
	result := c.people.Update(observation(l))
	c.remember(&l.Frame, len(result.Born) > 0) // before anybody hears of a new number
	out := ipc.Tracks{Frame: l.Frame, Topology: l.Topology, Faces: []ipc.TrackedFace{}, Lost: result.Lost}
	for _, f := range result.Faces {
		face := trackedFace(f, now.Tracker.KeepRaw)
		face.Confidence = l.Faces[f.Index].Confidence
		out.Faces = append(out.Faces, face)
	}
	c.seats.name(out.Faces, l.Width, l.Height, l.TimeNS())
	out.Stamps.Tracks = clock.Now()
	if err := t.env.Publish(l.Camera, ipc.KindTracks, &out); err != nil {
		t.env.Drop(l.Frame, links.ReasonBus)
		return
	}
	t.acks.Done(&l.Frame)
	t.pairs.add(&out)
	t.hosts.Own(&out)
	t.env.Telemetry.Frame(l.Camera, len(out.Faces), clock.Since(begin), clock.Since(l.CaptureNS))
}

// camera returns the state of a message's camera; on its first frame, what the tracker before this one has left.
func (t *tracker) camera(ctx context.Context, worker int, l *ipc.Landmarks) *camera {
	f := &l.Frame
	cameras := t.cameras[worker]
	if cameras[f.Camera] == nil {
		now := t.now.Load()
		head := t.head.Topology().Name
		if set, ok := topology.Named(l.Topology); !ok || set.Name != head {
			t.env.Log.Warn("no poses: the points are of another set than the landmark model's here", "camera", f.Camera, "points", l.Topology, "model", head)
		}
		c := openCamera(ctx, t.env, t.options(now, f.Camera), f)
		c.now = now
		c.seats = newSeats(now.ParticipantsOf(f.Camera))
		cameras[f.Camera] = c
	}
	return cameras[f.Camera]
}

// apply takes a changed configuration over; each camera does with its next frame.
func (t *tracker) apply(_, to config.Config) error {
	t.now.Store(&to)
	return nil
}

// forget gives up what is known of a camera that was removed, in its worker.
func (t *tracker) forget(camera string) {
	if old, dropped := t.pool.Push(camera, message{frame: ipc.Frame{Camera: camera}}); dropped && old.data != nil {
		t.env.Drop(old.frame, links.ReasonQueueFull)
	}
}

// options of a camera.
func (t *tracker) options(c *config.Config, camera string) track.Options {
	o := trackOptions(c.Tracker)
	o.Pose, o.HFOVDegrees = t.head, c.CameraNamed(camera).HFOV
	return o
}

func trackOptions(c config.Tracker) track.Options {
	euro := func(o config.OneEuro) track.OneEuroParams {
		return track.OneEuroParams{MinCutoff: o.MinCutoff, Beta: o.Beta, DCutoff: o.DCutoff}
	}
	return track.Options{
		MemorySeconds: c.MemorySeconds, ReIDSeconds: c.ReidentifySeconds, MaxFaces: c.MaxIdentities,
		ReIDSimilarity: sameLooks,
		Smoothing: track.Smoothing{
			Off: !c.Smoothing.Enabled, Points: euro(c.Smoothing.Points), Box: euro(c.Smoothing.Points),
			Blendshapes: euro(c.Smoothing.Blendshapes), Angles: euro(c.Smoothing.Pose), Position: euro(c.Smoothing.Pose),
			Gaze: euro(c.Smoothing.Gaze),
		},
	}
}
