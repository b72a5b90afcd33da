package vision

import "math"

// ConfidenceRadius is how far, in parts of the region's side, a point may be off to count as found: some 5 mm on an adult.
const ConfidenceRadius = 0.025

// Confidence is the probability that a point lies within ConfidenceRadius of its place, given the logarithm of the standard deviation of
// its x and y.
func Confidence(spread float64) float64 {
	reach := ConfidenceRadius * math.Exp(-spread)
	return -math.Expm1(-reach * reach / 2)
}
