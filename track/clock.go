package track

const (
	longestStep = 86400.0 // bounds what one frame can add to the clock, seconds
	longestBeat = 2.0     // frames farther apart are an interruption, not a frame rate, seconds
)

// clock turns capture stamps into seconds that never go back.
type clock struct {
	started bool
	last    int64
	seconds float64
	beat    float64 // running mean of the time between frames, seconds
}

func (c *clock) advance(ns int64) {
	if c.started && ns > c.last {
		// Subtracted as floats, because stamps at the two ends of the range would overflow.
		step := min((float64(ns)-float64(c.last))/1e9, longestStep)
		c.seconds += step
		if c.beat == 0 {
			c.beat = min(step, longestBeat)
		}
		c.beat += 0.1 * (min(step, longestBeat) - c.beat)
	}
	c.started, c.last = true, ns
}

// atLeast stretches a time that is meant to span some frames when the frames are slow.
func (c *clock) atLeast(seconds, frames float64) float64 { return max(seconds, frames*c.beat) }
