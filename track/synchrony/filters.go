package synchrony

import "math"

// differentiate writes to out the derivative of x per second, where x has half samples more at each
// end: the Savitzky–Golay filter of degree 2 in doc.go. NaN spreads to all that use it.
func differentiate(out, x []float64, half int, rate float64) {
	m := float64(half)
	scale := 3 * rate / (m * (m + 1) * (2*m + 1)) // 1/(h·Σj²)
	for i := range out {
		sum := 0.0
		for j := 1; j <= half; j++ {
			sum += float64(j) * (x[i+half+j] - x[i+half-j])
		}
		out[i] = sum * scale
	}
}

// average writes to out the mean over the last n of x, which has n-1 samples more in front; NaN with
// fewer than enough of them.
func average(out, x []float64, n, enough int) {
	sum, count := 0.0, 0
	for _, v := range x[:n-1] {
		if v == v { // not NaN
			sum += v
			count++
		}
	}
	oldest, newest := x[:len(out)], x[n-1:][:len(out)]
	for i, v := range newest {
		if v == v {
			sum += v
			count++
		}
		out[i] = math.NaN()
		if count >= enough {
			out[i] = sum / float64(count)
		}
		if v := oldest[i]; v == v {
			sum -= v
			count--
		}
	}
}
