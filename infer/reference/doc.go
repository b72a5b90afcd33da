// Package reference is the inference backend in plain Go: every operator, on every machine, one goroutine.
//
// It is the oracle for the other backends: convolutions are accumulated in float64 and rounded to float32 once per output,
// so results do not depend on the order of summation; Mean and Sum are float32 sums in the elements' order.
// A batch is run one item after the other. The backend registers as "reference" with the lowest rank.
package reference
