// Package workers runs a stage's networks on the GPU if they run there, else on the CPU.
//
// A GPU that is lost on the way, as when another program's fault takes its contexts along, can be had again in a new process
// alone. So the stage ends to be started again; where nobody would do that, it goes on on the CPU.
package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/stage"
)

// Worker runs networks.
type Worker interface {
	Backend() string
	Close() error
}

// Crew is the workers of a stage.
type Crew[W Worker] struct {
	Env *stage.Env
	// GPU and CPU make the workers; those that were made are returned also with an error.
	GPU func(*Health) ([]W, error)
	CPU func() ([]W, error)
	// Shape is told how many frames a worker takes at once, how long they wait for that, and whether only while another is at work.
	Shape func(most int, wait time.Duration, eager bool)

	workers []W
	health  *Health // nil on the CPU
}

// Open makes the workers, and tries those on the GPU. An error is permanent, unless it passes by itself.
func (c *Crew[W]) Open(ctx context.Context) error {
	if !c.Env.Config.WantsGPU() {
		return c.openCPU("")
	}
	err := c.openGPU()
	for end := time.Now().Add(passes); passing(err) && ctx.Err() == nil && time.Now().Before(end); err = c.openGPU() {
		time.Sleep(passes / 20)
	}
	if err == nil {
		c.Env.Telemetry.Backend(c.workers[0].Backend(), "")
		return nil
	}
	if c.Env.Config.Infer.Backend != "cuda" {
		return c.openCPU(err.Error())
	}
	err = fmt.Errorf("infer.backend is cuda: %w", err)
	if passing(err) {
		return err
	}
	return stage.Permanent(err)
}

// passes is how long it may take the system to recover from the loss of a GPU.
const passes = 3 * time.Second

// passing tells errors of a GPU that is just being given to somebody else, or of an MPS server that starts again.
func passing(err error) bool {
	for _, code := range []cuda.Code{46, 805, 806, 807, 808, 809} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func (c *Crew[W]) openGPU() (err error) {
	health := NewHealth(c.Env.Log)
	if c.workers, err = c.GPU(health); err != nil {
		return errors.Join(err, c.Close())
	}
	c.health = health
	wait, eager := c.Env.Config.Infer.BatchWait()
	c.Shape(c.Env.Config.Infer.MaxBatch, wait, eager)
	return nil
}

// openCPU says why the workers are not on the GPU.
func (c *Crew[W]) openCPU(why string) (err error) {
	if c.workers, err = c.CPU(); err != nil {
		return stage.Permanent(errors.Join(err, c.Close()))
	}
	c.health = nil
	c.Shape(1, 0, false)
	c.Env.Telemetry.Backend(c.workers[0].Backend(), why)
	if why != "" {
		c.Env.Log.Log(context.Background(), c.gravity(), "networks run on the CPU", "backend", c.workers[0].Backend(), "reason", why)
	}
	return nil
}

// gravity of running on the CPU: where no GPU is, nothing is wrong.
func (c *Crew[W]) gravity() slog.Level {
	if _, err := cuda.SelectDevice(c.Env.Config.CUDA.GPU); err != nil {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// Backend names what the workers run on.
func (c *Crew[W]) Backend() string { return c.workers[0].Backend() }

// Run has every worker work until ctx is done; work returns when its own context is.
func (c *Crew[W]) Run(ctx context.Context, work func(ctx context.Context, w W)) error {
	for {
		lost := c.shift(ctx, work)
		if lost == nil {
			return nil
		}
		if c.Env.Renewed || c.Env.Config.Infer.Backend == "cuda" {
			return fmt.Errorf("the GPU is lost: %w", lost)
		}
		c.Env.Log.Error("the GPU is lost: the networks go on on the CPU, slower", "error", lost)
		if err := c.Close(); err != nil {
			c.Env.Log.Debug("networks on the GPU not closed", "error", err)
		}
		if err := c.openCPU("the GPU was lost: " + lost.Error()); err != nil {
			return err
		}
	}
}

// shift lasts until ctx is done or the GPU is lost, whose error it returns.
func (c *Crew[W]) shift(ctx context.Context, work func(context.Context, W)) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for _, w := range c.workers {
		all.Go(func() { work(working, w) })
	}
	var lost <-chan struct{} // nil on the CPU
	if c.health != nil {
		lost = c.health.Lost()
	}
	select {
	case <-ctx.Done():
		all.Wait()
		return nil
	case <-lost:
		stop()
		all.Wait()
		return c.health.Err()
	}
}

// Close frees the workers.
func (c *Crew[W]) Close() error {
	var all []error
	for _, w := range c.workers {
		all = append(all, w.Close())
	}
	c.workers = nil
	return errors.Join(all...)
}
