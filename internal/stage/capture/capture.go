// Package capture is the stage that brings the frames of cameras into their rings and announces them.
//
// It never waits for a consumer: a frame that finds no free slot is dropped and counted. Only a recorded source
// with pace "max" is read as fast as the frames before it leave the last stage, so that none is lost.
package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	cameras := make([]*camera, 0, len(env.Config.Cameras))
	defer func() { // side by side: each ring waits until the other processes have let go of its device memory
		var closing sync.WaitGroup
		for _, c := range cameras {
			closing.Go(func() { _ = c.Close() })
		}
		closing.Wait()
	}()
	gpus := newGPUs(env.Config, env.Log)
	for _, cfg := range env.Config.Cameras {
		c, err := openCamera(ctx, env, gpus, cfg)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("camera %s: %w", cfg.Name, err)
		}
		cameras = append(cameras, c)
	}
	if err := follow(env, cameras); err != nil {
		return err
	}
	env.Ready()
	g, gctx := errgroup.WithContext(ctx)
	for _, c := range cameras {
		g.Go(func() error {
			if err := c.run(gctx); err != nil {
				return fmt.Errorf("camera %s: %w", c.cfg.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// follow learns from the other stages which frames have reached their end.
func follow(env *stage.Env, cameras []*camera) error {
	flights := make(map[string]*flight, len(cameras))
	for _, c := range cameras {
		flights[c.cfg.Name] = c.flight
	}
	_, err := env.Subscribe(ipc.KindAck, func(data []byte) {
		if a, err := ipc.DecodeAck(data); err == nil && flights[a.Camera] != nil {
			flights[a.Camera].done(a.Seq)
		}
	})
	if err != nil {
		return err
	}
	_, err = env.Subscribe(ipc.KindDrops, func(data []byte) {
		if d, err := ipc.DecodeDrop(data); err == nil && flights[d.Camera] != nil {
			for _, seq := range d.Seqs {
				flights[d.Camera].done(seq)
			}
		}
	})
	return err
}

// window is how many frames of a camera may be under way with pace "max": no queue and no ring overflows.
func window(c config.Config) int {
	return max(1, min(c.Ring.Slots-2, c.Detect.MaxQueue, c.Landmarks.MaxQueue))
}
