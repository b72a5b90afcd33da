package modeleval

import (
	"math"

	"facetrack/vision"
)

// varies is the least standard deviation of a coefficient that is worth correlating.
const varies = 0.02

// shown are the blendshapes of one face in one frame.
type shown struct {
	clip, face   int
	ours, theirs []float64
}

// Shapes compares blendshapes.
type Shapes struct {
	Faces        int     `json:"faces"`
	Varying      int     `json:"varying"`             // coefficients that vary
	Correlation  float64 `json:"median_correlation"`  // of these
	WithinFace   float64 `json:"median_within_faces"` // the same with each face's mean taken off
	Difference   float64 `json:"mean_difference"`     // absolute, of all coefficients
	Coefficients []Shape `json:"coefficients"`        // those that vary
}

// Shape is one coefficient.
type Shape struct {
	Name        string  `json:"name"`
	Deviation   float64 `json:"deviation"` // of the reference's
	Correlation float64 `json:"correlation"`
	WithinFace  float64 `json:"within_faces"`
	Difference  float64 `json:"mean_difference"`
	Bias        float64 `json:"bias"` // ours less the reference's
}

func measureShapes(all []shown) Shapes {
	s := Shapes{Faces: len(all), Coefficients: []Shape{}}
	var every, correlations, within []float64
	for c, name := range vision.BlendshapeNames {
		ours, theirs := series(all, c, func(s shown) []float64 { return s.ours }), series(all, c, func(s shown) []float64 { return s.theirs })
		shape := Shape{Name: name, Deviation: deviation(theirs), Bias: mean(ours) - mean(theirs)}
		for i := range ours {
			shape.Difference += math.Abs(ours[i]-theirs[i]) / float64(len(ours))
		}
		every = append(every, shape.Difference)
		if shape.Deviation < varies {
			continue
		}
		shape.Correlation = correlation(ours, theirs)
		shape.WithinFace = correlation(centred(all, ours), centred(all, theirs))
		s.Coefficients = append(s.Coefficients, shape)
		correlations, within = append(correlations, shape.Correlation), append(within, shape.WithinFace)
	}
	s.Varying, s.Correlation, s.WithinFace, s.Difference = len(correlations), median(correlations), median(within), mean(every)
	return s
}

func series(all []shown, c int, of func(shown) []float64) []float64 {
	out := make([]float64, len(all))
	for i, s := range all {
		out[i] = of(s)[c]
	}
	return out
}

// centred takes each face's mean off its values.
func centred(all []shown, values []float64) []float64 {
	type who struct{ clip, face int }
	own := map[who][]float64{}
	for i, s := range all {
		own[who{s.clip, s.face}] = append(own[who{s.clip, s.face}], values[i])
	}
	out := make([]float64, len(values))
	for i, s := range all {
		out[i] = values[i] - mean(own[who{s.clip, s.face}])
	}
	return out
}
