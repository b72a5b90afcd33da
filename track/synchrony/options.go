package synchrony

import (
	"errors"
	"fmt"
	"math"
)

// Options configures a [Pair]. A zero field, Channels apart, takes its default.
type Options struct {
	// Channels are the places of the compared values in the frames that [Pair.Add] gets: 1 to 128
	// different ones. [Channels] finds them by name.
	Channels []int
	// Rate is that of the common grid in Hz, 1 to 120. Default 30.
	Rate float64
	// MaxGapSeconds is the longest distance between two frames that is interpolated, at most WaitSeconds. Default 0.25.
	MaxGapSeconds float64
	// WaitSeconds is how far one side may be ahead before the other one's samples count as missing. Default 0.5.
	WaitSeconds float64

	// WindowSeconds, StepSeconds: length of a window and distance between two. Defaults 5 and 1/3.
	WindowSeconds, StepSeconds float64
	// MaxLagSeconds bounds the lags to both sides. Default 2.
	MaxLagSeconds float64
	// PeakSpanSeconds is how far a peak falls off to both sides, at least. Default 0.1.
	PeakSpanSeconds float64
	// MinValid is the part of a window, above 0 and at most 1, that must be there on both sides. Default 0.8.
	MinValid float64
	// MinDeviation is the least standard deviation of values within a window. Default 0.01.
	MinDeviation float64

	// DerivativeSeconds is the length of the derivative filter, rounded to an odd number of samples, at least 3. Default 0.25.
	DerivativeSeconds float64
	// MinSpeed is the least standard deviation of derivatives, per second. Default 0.05.
	MinSpeed float64

	// BaselineSeconds, SustainedSeconds: what a baseline averages over and the window it is compared
	// in. Defaults 10 and 30.
	BaselineSeconds, SustainedSeconds float64
	// MinBaselineDeviation is the least standard deviation of baselines within their window. Default 0.005.
	MinBaselineDeviation float64
}

// ErrOptions is in every error of [New]; the rest of the message names the field.
var ErrOptions = errors.New("synchrony: bad option")

const (
	maxChannels = 128
	maxPlace    = 1 << 16
	maxSeconds  = 300 // of any length: it bounds memory
	leastWindow = 8   // samples
	leastSpread = 1e-4
	implausible = 1000 // beyond this a value is an error, not a score, degree or centimetre
	nanoseconds = 1e9
	latestNS    = int64(1) << 62
	slack       = 4 // samples, for rounding of times
)

// resolve fills in defaults and checks.
func (o Options) resolve() (Options, error) {
	for _, f := range []struct {
		name               string
		value              *float64
		normal, least, max float64
	}{
		{"Rate", &o.Rate, 30, 1, 120},
		{"MaxGapSeconds", &o.MaxGapSeconds, 0.25, 1e-3, maxSeconds},
		{"WaitSeconds", &o.WaitSeconds, 0.5, 1e-3, maxSeconds},
		{"WindowSeconds", &o.WindowSeconds, 5, 1e-3, maxSeconds},
		{"StepSeconds", &o.StepSeconds, 1.0 / 3, 1e-3, maxSeconds},
		{"MaxLagSeconds", &o.MaxLagSeconds, 2, 1e-3, maxSeconds},
		{"PeakSpanSeconds", &o.PeakSpanSeconds, 0.1, 1e-3, maxSeconds},
		{"MinValid", &o.MinValid, 0.8, 1e-3, 1},
		{"MinDeviation", &o.MinDeviation, 0.01, leastSpread, implausible},
		{"DerivativeSeconds", &o.DerivativeSeconds, 0.25, 1e-3, maxSeconds},
		{"MinSpeed", &o.MinSpeed, 0.05, leastSpread, implausible},
		{"BaselineSeconds", &o.BaselineSeconds, 10, 1e-3, maxSeconds},
		{"SustainedSeconds", &o.SustainedSeconds, 30, 1e-3, maxSeconds},
		{"MinBaselineDeviation", &o.MinBaselineDeviation, 0.005, leastSpread, implausible},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if !(*f.value >= f.least && *f.value <= f.max) {
			return o, fmt.Errorf("%w: %s is %g, not within %g and %g", ErrOptions, f.name, *f.value, f.least, f.max)
		}
	}
	if err := o.checkChannels(); err != nil {
		return o, err
	}
	return o, o.checkLengths()
}

func (o Options) checkChannels() error {
	if len(o.Channels) == 0 || len(o.Channels) > maxChannels {
		return fmt.Errorf("%w: Channels has %d entries, not 1 to %d", ErrOptions, len(o.Channels), maxChannels)
	}
	seen := map[int]bool{}
	for _, c := range o.Channels {
		if c < 0 || c > maxPlace || seen[c] {
			return fmt.Errorf("%w: Channels has %d, which is not within 0 and %d or there twice", ErrOptions, c, maxPlace)
		}
		seen[c] = true
	}
	return nil
}

// checkLengths compares lengths with each other, in samples.
func (o Options) checkLengths() error {
	s := o.sizes()
	const short = "%w: %s %g is %d samples, not at least %d"
	const long = "%w: %s %g is longer than %s %g"
	switch {
	case s.window < leastWindow:
		return fmt.Errorf(short, ErrOptions, "WindowSeconds", o.WindowSeconds, s.window, leastWindow)
	case s.sustained < leastWindow:
		return fmt.Errorf(short, ErrOptions, "SustainedSeconds", o.SustainedSeconds, s.sustained, leastWindow)
	case s.span > s.lag:
		return fmt.Errorf(long, ErrOptions, "PeakSpanSeconds", o.PeakSpanSeconds, "MaxLagSeconds", o.MaxLagSeconds)
	case 2*s.half+1 > s.window:
		return fmt.Errorf(long, ErrOptions, "DerivativeSeconds", o.DerivativeSeconds, "WindowSeconds", o.WindowSeconds)
	case o.MaxGapSeconds > o.WaitSeconds:
		return fmt.Errorf(long, ErrOptions, "MaxGapSeconds", o.MaxGapSeconds, "WaitSeconds", o.WaitSeconds)
	}
	return nil
}

// sizes are Options' lengths in samples of the grid.
type sizes struct {
	window, step, lag, span int
	half                    int // m of the derivative's 2m+1
	baseline, sustained     int
	wait                    int
}

func (o Options) sizes() sizes {
	samples := func(seconds float64) int { return max(1, int(math.Round(seconds*o.Rate))) }
	return sizes{
		window: samples(o.WindowSeconds), step: samples(o.StepSeconds),
		lag: samples(o.MaxLagSeconds), span: samples(o.PeakSpanSeconds),
		half:     max(1, int(math.Round((o.DerivativeSeconds*o.Rate-1)/2))),
		baseline: samples(o.BaselineSeconds), sustained: samples(o.SustainedSeconds),
		wait: samples(o.WaitSeconds),
	}
}

// ahead is how many samples after the end of its window a result needs.
func (s sizes) ahead() int { return s.lag + s.half }

// history is how many samples before the end of its window a result needs.
func (s sizes) history() int { return max(s.window+s.half, s.sustained+s.baseline-1) }

// enough is the least number of samples of n that must be there. Two always correlate.
func (o Options) enough(n int) int { return min(n, max(3, int(math.Ceil(o.MinValid*float64(n)-1e-9)))) }
