// Package lslout is the stage that offers every identity as a Lab Streaming Layer stream.
//
// A camera has one stream for each of its first participants from the start, so that a recorder can select it
// before anybody is seen, and one more for each further identity when it appears. Each frame is one sample,
// stamped with its capture instant; when the identity is not in the frame its values are NaN and its confidence 0.
package lslout

import (
	"context"
	"errors"
	"sync"

	"facetrack/internal/clock"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/queue"
	"facetrack/ipc"
	"facetrack/lsl"
)

const (
	maxQueue          = 256
	reasonQueueFull   = "queue-full"
	reasonNoMoreSlots = "too-many-streams"
)

type output struct {
	env     *stage.Env
	queue   *queue.Fair[ipc.Tracks]
	cameras map[string]*cameraStreams
}

// Run is the stage's main function.
func Run(ctx context.Context, env *stage.Env) error {
	o := &output{env: env, queue: queue.New[ipc.Tracks](maxQueue), cameras: map[string]*cameraStreams{}}
	defer func() { _ = o.close() }()
	if env.Config.LSL.Enabled {
		for _, c := range env.Config.Cameras {
			if err := o.openFirst(ctx, c); err != nil {
				return err
			}
		}
		if _, err := env.Subscribe(ipc.KindTracks, o.receive); err != nil {
			return err
		}
	}
	env.Ready()
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			t, ok := o.queue.Pop(ctx)
			if !ok {
				return
			}
			o.frame(ctx, t)
		}
	})
	worker.Wait()
	return nil
}

func (o *output) openFirst(ctx context.Context, c config.Camera) error {
	streams := o.streams(c.Name)
	for id := 1; id <= o.env.Config.LSL.Participants; id++ {
		if _, err := streams.open(ctx, id); err != nil {
			return stage.Permanent(err)
		}
	}
	return nil
}

func (o *output) streams(camera string) *cameraStreams {
	if o.cameras[camera] == nil {
		o.cameras[camera] = newCameraStreams(o.env, camera)
	}
	return o.cameras[camera]
}

func (o *output) close() error {
	var errs []error
	for _, c := range o.cameras {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

func (o *output) receive(data []byte) {
	t, err := ipc.DecodeTracks(data)
	if err != nil {
		o.env.Log.Warn("tracks message ignored", "error", err)
		return
	}
	if old, dropped := o.queue.Push(t.Camera, t); dropped {
		o.env.Telemetry.Drop(old.Camera, reasonQueueFull) // the frame did reach tracks: its account is closed
	}
}

// frame sends one sample on every stream of the frame's camera.
func (o *output) frame(ctx context.Context, t ipc.Tracks) {
	begin := clock.Now()
	streams := o.streams(t.Camera)
	for i := range t.Faces {
		if _, err := streams.open(ctx, t.Faces[i].ID); err != nil {
			o.env.Telemetry.Drop(t.Camera, reasonNoMoreSlots)
		}
	}
	if err := streams.push(&t); err != nil && !errors.Is(err, lsl.ErrClosed) {
		o.env.Log.Warn("sample not sent", "camera", t.Camera, "seq", t.Seq, "error", err)
	}
	o.env.Telemetry.Frame(t.Camera, len(t.Faces), clock.Since(begin), clock.Since(t.CaptureNS))
}
