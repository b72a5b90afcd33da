package capture

import (
	"os"
	"time"

	"facetrack/gpuring"
)

// watch looks after a ring whose driver may not come back from a call: whoever is in it, or waits for the ring's lock, cannot.
type watch struct{ quit, done chan struct{} }

// newWatch calls stuck, once, when a call lasts longer than limit.
func newWatch(ring gpuring.Writer, limit time.Duration, stuck func(ring string, after time.Duration)) *watch {
	w := &watch{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		if w.outlasts(ring, limit) {
			stuck(ring.ID(), limit)
		}
	}()
	return w
}

// outlasts counts by its own looks: when this process was stopped itself, the time says nothing about the driver.
func (w *watch) outlasts(ring gpuring.Writer, limit time.Duration) bool {
	look := limit / 20
	tick := time.NewTicker(look)
	defer tick.Stop()
	for seen := time.Duration(0); seen < limit; {
		select {
		case <-w.quit:
			return false
		case <-tick.C:
		}
		if ring.CallStall() >= look { // the call of the look before, too
			seen += look
		} else {
			seen = 0
		}
	}
	return true
}

// stop ends the watch.
func (w *watch) stop() {
	if w != nil {
		close(w.quit)
		<-w.done
	}
}

// exit ends the process; tests replace it.
var exit = os.Exit

// stuck ends this process: the driver has the camera's own goroutine, or the lock that it needs. Whoever started the process starts it
// again.
func (c *camera) stuck(ring string, after time.Duration) {
	c.env.Log.Error("the GPU's driver does not come back from a call; this process ends to be started again", "camera", c.cfg.Name,
		"ring", ring, "after", after)
	exit(1)
}
