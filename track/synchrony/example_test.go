package synchrony_test

import (
	"fmt"
	"math"

	"facetrack/track/synchrony"
	"facetrack/vision"
)

// Two people are filmed at different rates; the second one smiles as the first, 0.4 s later.
func Example() {
	smile, err := synchrony.Channels(vision.BlendshapeNames[:], "mouthSmileLeft", "mouthSmileRight")
	if err != nil {
		panic(err)
	}
	n := 0
	pair, err := synchrony.New(synchrony.Options{Channels: smile, StepSeconds: 5}, func(r synchrony.Result) {
		if n++; n <= 3 {
			peak := r.Mean.Value.Nearest
			from := float64(r.FromNS) / 1e9
			fmt.Printf("%.0f s: at lag 0 %.2f, peak %.2f at %.2f s\n", from, r.Mean.Value.R, peak.R, peak.LagSeconds)
		}
	})
	if err != nil {
		panic(err)
	}
	frame := make([]float64, len(vision.BlendshapeNames))
	send := func(side synchrony.Side, seconds, delay float64) {
		for i, c := range smile {
			frame[c] = 0.4 + 0.3*math.Sin(2*math.Pi*0.3*(seconds-delay)) + 0.1*float64(i)
		}
		if err := pair.Add(side, int64(seconds*1e9), frame); err != nil {
			panic(err)
		}
	}
	for i := range 100 {
		for j := range 6 { // in order of time: 30 and 25 frames a second
			send(synchrony.A, float64(6*i+j)/30, 0)
			if j < 5 {
				send(synchrony.B, float64(5*i+j)/25, 0.4)
			}
		}
	}
	// Output:
	// 0 s: at lag 0 0.71, peak 1.00 at 0.40 s
	// 5 s: at lag 0 0.71, peak 1.00 at 0.40 s
	// 10 s: at lag 0 0.71, peak 1.00 at 0.40 s
}
