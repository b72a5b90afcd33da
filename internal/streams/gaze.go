package streams

import (
	"math"

	"facetrack/ipc"
	"facetrack/lsl"
)

// gaze holds where the eyes are and where they look. Both is the mean direction of the eyes that show it.
var gaze = kind{
	name: "gaze", contentType: "Gaze", channels: gazeChannels(), setup: gazeFrame,
	fill: func(p *person, row []float32, f *ipc.TrackedFace) bool {
		g := f.Gaze
		if g == nil {
			return false
		}
		scale, known := p.metres()
		for i, eye := range []*ipc.Eye{g.Left, g.Right} {
			if eye == nil {
				continue
			}
			if at := row[6*i:]; known {
				put(at, scale*eye.Origin[0], scale*eye.Origin[1], scale*eye.Origin[2])
			}
			put(row[6*i+3:], eye.Direction[:]...)
		}
		d := bothEyes(g)
		put(row[12:], d[0], d[1], d[2], g.Pitch, g.Yaw)
		return true
	},
}

func gazeChannels() (all []lsl.Channel) {
	of := func(eye, label, quantity, unit string) {
		all = append(all, lsl.Channel{Label: eye + label, Type: quantity, Unit: unit, Fields: []*lsl.Element{lsl.Leaf("eye", eye)}})
	}
	for _, eye := range []string{"left", "right"} {
		for _, axis := range []string{"X", "Y", "Z"} {
			of(eye, "Position"+axis, "Position"+axis, "meters")
		}
		for _, axis := range []string{"X", "Y", "Z"} {
			of(eye, "Direction"+axis, "Direction"+axis, "normalized")
		}
	}
	for _, axis := range []string{"X", "Y", "Z"} {
		of("both", "Direction"+axis, "Direction"+axis, "normalized")
	}
	of("both", "Pitch", "OrientationP", "degrees")
	of("both", "Heading", "OrientationH", "degrees")
	return all
}

// bothEyes is the unit vector of the gaze's angles, whose signs are those of a head: 0 looks against the z axis.
func bothEyes(g *ipc.Gaze) [3]float64 {
	pitch, yaw := g.Pitch*math.Pi/180, g.Yaw*math.Pi/180
	return [3]float64{math.Sin(yaw) * math.Cos(pitch), -math.Sin(pitch), -math.Cos(yaw) * math.Cos(pitch)}
}
