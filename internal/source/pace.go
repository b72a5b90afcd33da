package source

import (
	"context"
	"math"
	"time"

	"facetrack/internal/clock"
)

// Clock is the time a Pacer lives by. Tests inject their own.
type Clock interface {
	// Now returns CLOCK_MONOTONIC in nanoseconds.
	Now() int64
	// Sleep waits for d, or until ctx is done and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() int64 { return clock.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// maxLag is how far a Pacer lets the schedule run ahead of the frames before it moves the schedule.
const maxLag = int64(time.Second)

// Pacer plays a source in real time: frame i is due at start + i/fps, reckoned from the start, which is the first Grab or, for a
// source in step, soon after it, so that rounding never adds up. Grab returns the due instant as the capture instant.
//
// A frame that is late is delivered at once with the instant it was due, so that its lateness shows as
// latency. When frames are more than a second late the schedule moves: the frame is due now, and Slipped
// grows. A stall is therefore followed by at most a second's worth of hurried frames.
type Pacer struct {
	Source
	clock   Clock
	fps     float64
	start   int64
	count   int64 // frames since start
	slipped time.Duration
}

// Pace wraps src in a Pacer. fps 0 takes the source's own rate, or 30 when it has none; clk nil is the system's clock.
func Pace(src Source, fps float64, clk Clock) *Pacer {
	if fps <= 0 {
		fps = Options{}.rate(src.Info().FPS)
	}
	if clk == nil {
		clk = systemClock{}
	}
	return &Pacer{Source: src, clock: clk, fps: fps}
}

// Info is the source's, at the pace's rate.
func (p *Pacer) Info() Info {
	info := p.Source.Info()
	info.FPS = p.fps
	return info
}

// Slipped returns how much later than planned the schedule now runs.
func (p *Pacer) Slipped() time.Duration { return p.slipped }

// Grab advances the source, waits until the frame is due and returns the due instant.
func (p *Pacer) Grab(ctx context.Context) (int64, error) {
	if _, err := p.Source.Grab(ctx); err != nil {
		return 0, err
	}
	now := p.clock.Now()
	if p.count == 0 {
		p.start = p.first(now)
	}
	due := p.start + int64(float64(p.count)*1e9/p.fps)
	if late := now - due; late > maxLag {
		p.slipped += time.Duration(late)
		p.start, p.count, due = now, 0, now
	}
	p.count++
	if due > now {
		if err := p.clock.Sleep(ctx, time.Duration(due-now)); err != nil {
			return 0, err
		}
	}
	return due, nil
}

// first is when the first frame is due: now or, in step with others, when the clock is a whole number of frames and the phase.
func (p *Pacer) first(now int64) int64 {
	info := p.Source.Info()
	if !info.InStep {
		return now
	}
	period := 1e9 / p.fps
	return int64((math.Ceil(float64(now)/period-info.Phase) + info.Phase) * period)
}
