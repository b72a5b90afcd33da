package xdf

import (
	"encoding/xml"
	"math"
	"testing"

	"facetrack/xdf/xdftest"
)

func TestMeasuredRate(t *testing.T) {
	for what, c := range map[string]struct {
		stamps []float64
		want   float64
	}{
		"none":            {nil, 0},
		"one":             {[]float64{5}, 0},
		"four in 2 s":     {[]float64{1, 1.5, 2.9, 3}, 1.5},
		"one stamp":       {[]float64{5, 5, 5}, 0},
		"backwards":       {[]float64{5, 4}, 0},
		"too far apart":   {[]float64{-math.MaxFloat64, math.MaxFloat64}, 0},
		"almost together": {[]float64{math.SmallestNonzeroFloat64, 2 * math.SmallestNonzeroFloat64}, 0},
	} {
		var f facts
		for _, stamp := range c.stamps {
			f.add(stamp)
		}
		if got := f.rate(); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
		var footer xdftest.Footer
		if err := xml.Unmarshal(f.footer(), &footer); err != nil || footer.Count != len(c.stamps) {
			t.Errorf("%s: footer %s: %v", what, f.footer(), err)
		}
	}
}
