package detect

import (
	"errors"

	"facetrack/internal/config"
	"facetrack/internal/stage/networks"
)

// apply takes a changed configuration over between two frames.
func (d *detector) apply(from, to config.Config) error {
	if thresholds(from) != thresholds(to) {
		if err := d.tune(to); err != nil {
			return err
		}
	}
	d.schedule.set(to.Detect.Every, to.Cameras)
	d.batches.Prefer(to.FirstCameras())
	return nil
}

// forget gives up what is known of a camera that was removed.
func (d *detector) forget(camera string) {
	d.links.Forget(camera)
	d.schedule.forget(camera)
	d.batches.Forget(camera)
}

// config is the one whose thresholds are in effect.
func (d *detector) config() *config.Config {
	if c := d.tuned.Load(); c != nil {
		return c
	}
	return &d.env.Config
}

// thresholds are what the networks' results are read with.
func thresholds(c config.Config) [3]float64 {
	return [3]float64{c.Detect.ScoreThreshold, c.Detect.NMSThreshold, float64(c.Detect.MaxFaces)}
}

// tune changes the thresholds. On a GPU they are part of what was captured, so other detectors are opened beside those at
// work and take over once they have run.
func (d *detector) tune(to config.Config) error {
	if all := d.onGPUs.Load(); all != nil && len(*all) > 0 {
		fresh, err := networks.OpenGPUDetectors(to, len(*all), d.env.Log)
		if err != nil {
			return err
		}
		for i, g := range *all {
			if err := g.follow(&fresh[i]); err != nil {
				d.env.Log.Debug("detector not closed", "error", err)
			}
		}
	}
	d.tuned.Store(&to)
	return nil
}

// follow has another detector take over with the next batch.
func (g *onGPU) follow(next *networks.GPUDetector) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return next.Close()
	}
	before := g.next
	g.next = next
	if before != nil {
		return before.Close()
	}
	return nil
}

// renew changes to the detector that follows, if there is one. The one before is closed beside the frames.
func (g *onGPU) renew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		return
	}
	before := g.GPUDetector
	g.GPUDetector, g.next = *g.next, nil
	g.closing.Go(func() { _ = before.Close() }) // a GPU that fails at this fails at the next frame as well
}

// Close frees both.
func (g *onGPU) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.closing.Wait()
	err := g.GPUDetector.Close()
	if g.next != nil {
		err = errors.Join(err, g.next.Close())
		g.next = nil
	}
	return err
}
