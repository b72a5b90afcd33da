package track

const (
	longestStep  = 86400.0 // bounds what one frame can add to the clock, seconds
	firstBeat    = 10.0    // bounds what the first step says about the frame rate, seconds
	longestBeat  = 60.0    // frames that are always farther apart are too few to tell who is who, seconds
	beatSteps    = 10.0    // steps over which the frame rate is averaged
	interruption = 4.0     // a step counts at most this many beats: one that is longer is none of the frame rate
)

// clock turns capture stamps into seconds that never go back.
type clock struct {
	started bool
	last    int64
	seconds float64
	steps   float64 // how many made the beat, at most beatSteps
	beat    float64 // running mean of the time between frames, seconds
}

func (c *clock) advance(ns int64) {
	if c.started && ns > c.last {
		// Subtracted as floats, because stamps at the two ends of the range would overflow.
		step := min((float64(ns)-float64(c.last))/1e9, longestStep)
		c.seconds += step
		if c.beat == 0 {
			c.beat = min(step, firstBeat)
		}
		c.steps = min(c.steps+1, beatSteps)
		c.beat += (min(step, interruption*c.beat, longestBeat) - c.beat) / c.steps
	}
	c.started, c.last = true, ns
}

// atLeast stretches a time that is meant to span some frames when the frames are slow.
func (c *clock) atLeast(seconds, frames float64) float64 { return max(seconds, frames*c.beat) }
