// Package capture is the stage that brings the frames of cameras into their rings and announces them.
//
// It never waits for a consumer: a frame that finds no free slot is dropped and counted. Only a recorded source
// with pace "max" is read as fast as the frames before it leave the last stage, so that none is lost.
package capture

import (
	"context"
	"errors"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// patience is how long a frame may be under way before it is taken for lost.
const patience = 2 * time.Second

// Reasons of drop notices.
const (
	reasonNoFreeSlot = "no-free-slot"
	reasonGPUStalled = "gpu-stalled"
	reasonDecode     = "decode"
	reasonRing       = "ring"
	reasonBus        = "bus"
)

// Run is the stage's main function. It ends when every source has ended and its frames are through.
func Run(ctx context.Context, env *stage.Env) error {
	if len(env.Config.Cameras) == 0 {
		return stage.Permanent(errors.New("no camera is configured: name sources with --source or in the configuration file"))
	}
	f := newFleet(ctx, env)
	defer f.close()
	cameras, err := f.open(env.Config.Cameras)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := follow(env, f.flight); err != nil {
		closeAll(cameras)
		return err
	}
	if err := f.start(cameras); err != nil {
		return err
	}
	defer env.Follow(f.ctx, stage.Follower{Apply: f.apply})()
	env.Ready()
	return f.wait()
}

// follow learns from the other stages which frames have reached their end.
func follow(env *stage.Env, flightOf func(camera string) *flight) error {
	_, err := env.Subscribe(ipc.KindAck, func(data []byte) {
		if a, err := ipc.DecodeAck(data); err == nil {
			if f := flightOf(a.Camera); f != nil {
				f.done(a.Seq)
			}
		}
	})
	if err != nil {
		return err
	}
	_, err = env.Subscribe(ipc.KindDrops, func(data []byte) {
		d, err := ipc.DecodeDrop(data)
		if err != nil {
			return
		}
		if f := flightOf(d.Camera); f != nil {
			for _, seq := range d.Seqs {
				f.done(seq)
			}
		}
	})
	return err
}

// window is how many frames of a camera may be under way with pace "max": no queue and no ring overflows.
func window(c config.Config) int {
	return max(1, min(c.Ring.Slots-2, c.Detect.MaxQueue, c.Landmarks.MaxQueue))
}
