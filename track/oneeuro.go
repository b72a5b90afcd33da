package track

import "math"

// OneEuroParams tunes a One Euro filter. The cutoff frequency is MinCutoff + Beta·|speed|: MinCutoff
// sets how calm a resting value is, Beta how little a moving one lags.
type OneEuroParams struct {
	MinCutoff float64 // Hz
	Beta      float64 // Hz per (unit per second)
	DCutoff   float64 // cutoff of the speed estimate, Hz
}

// usable tells whether every parameter is a sensible number.
func (p OneEuroParams) usable() bool {
	return p.MinCutoff > 0 && p.Beta >= 0 && p.DCutoff > 0 && sane(p.MinCutoff) && sane(p.Beta) && sane(p.DCutoff)
}

// OneEuro smooths a vector that is sampled at irregular times. It implements
//
//	G. Casiez, N. Roussel, D. Vogel: 1€ Filter: A Simple Speed-based Low-pass Filter for Noisy Input
//	in Interactive Systems. CHI 2012, pp. 2527–2530. doi:10.1145/2207676.2208639
//
// The zero value is ready for use and takes its length from the first sample.
type OneEuro struct {
	value, speed []float64
	time         float64
}

// Reset forgets everything; the next sample passes unchanged.
func (f *OneEuro) Reset() { f.value = f.value[:0] }

// Filter smooths in, sampled at the given time in seconds, into out, which has the same length and
// may be in itself. Beta counts in Hz per (unit per second): give a face's size in px as the unit for
// pixels, and 1 to leave values as they are. Without progress of time the output repeats; a change of
// length starts anew; a component that is not finite keeps its last value.
func (f *OneEuro) Filter(out, in []float64, seconds, unit float64, p OneEuroParams) {
	if len(f.value) != len(in) {
		f.value = append(f.value[:0], in...)
		f.speed = make([]float64, len(in))
		f.time = seconds
		copy(out, in)
		return
	}
	if s, ok := newStep(seconds-f.time, unit, p); ok {
		for i, x := range in {
			diff := x - f.value[i]
			if !(math.Abs(diff) <= absurdStep) {
				f.value[i] = restart(f.value[i], x)
				continue
			}
			f.speed[i] += s.speed * (diff*s.rate - f.speed[i])
			r := s.min + s.slope*math.Abs(f.speed[i])
			f.value[i] += diff * r / (r + 1)
		}
	}
	f.time = seconds
	copy(out, f.value)
}

// absurdStep is a change between two samples that is an error, whatever the unit.
const absurdStep = 1e12

// restart returns the value to go on with after a difference that is no number.
func restart(value, sample float64) float64 {
	if math.Abs(value) <= absurdStep {
		return value
	}
	return sample
}

// step is what the filter needs for one interval: the sampling rate, the blend weight of the speed,
// and 2π·dt times the two cutoff parameters.
type step struct{ rate, speed, min, slope float64 }

// newStep is not ok when no time has passed.
func newStep(dt, unit float64, p OneEuroParams) (s step, ok bool) {
	if !(dt > 0) {
		return s, false
	}
	if !(unit > 0) {
		unit = 1
	}
	angle := 2 * math.Pi * dt
	return step{rate: 1 / dt, speed: blend(angle * p.DCutoff), min: angle * p.MinCutoff, slope: angle * p.Beta / unit}, true
}

// blend is the weight of a new sample in a first-order low-pass, 1/(1+τ/dt) with τ = 1/(2π·cutoff),
// where angle = 2π·cutoff·dt.
func blend(angle float64) float64 { return angle / (angle + 1) }
