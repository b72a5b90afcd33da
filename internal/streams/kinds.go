package streams

import (
	"fmt"
	"math"

	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/topology"
	"facetrack/track"
	"facetrack/vision"
)

var nan = float32(math.NaN())

var expression = kind{
	name: "expression", contentType: "FaceExpression", channels: expressionChannels(),
	fill: func(_ *person, row []float32, f *ipc.TrackedFace) bool {
		for i, v := range f.Blendshapes[:min(len(row), len(f.Blendshapes))] {
			row[i] = float32(v)
		}
		return len(f.Blendshapes) > 0
	},
}

func expressionChannels() (all []lsl.Channel) {
	for _, name := range vision.BlendshapeNames {
		all = append(all, lsl.Channel{Label: name, Type: "Blendshape", Unit: "normalized"})
	}
	return all
}

var head = kind{
	name: "head", contentType: "MoCap", setup: headFrame,
	channels: []lsl.Channel{
		ofHead("headX", "PositionX", "meters"), ofHead("headY", "PositionY", "meters"), ofHead("headZ", "PositionZ", "meters"),
		ofHead("headQuaternionW", "OrientationA", "quaternion"), ofHead("headQuaternionX", "OrientationB", "quaternion"),
		ofHead("headQuaternionY", "OrientationC", "quaternion"), ofHead("headQuaternionZ", "OrientationD", "quaternion"),
		ofHead("headPitch", "OrientationP", "degrees"), ofHead("headHeading", "OrientationH", "degrees"), ofHead("headRoll", "OrientationR", "degrees"),
	},
	fill: func(p *person, row []float32, f *ipc.TrackedFace) bool {
		if f.Pose == nil {
			return false
		}
		if scale, known := p.metres(); known {
			put(row[0:], scale*f.Pose.X, scale*f.Pose.Y, scale*f.Pose.Z)
		}
		q := track.RotationFromAngles(f.Pose.Pitch, f.Pose.Yaw, f.Pose.Roll).Quaternion()
		put(row[3:], q[:]...)
		put(row[7:], f.Pose.Pitch, f.Pose.Yaw, f.Pose.Roll)
		return true
	},
}

func ofHead(label, quantity, unit string) lsl.Channel {
	return lsl.Channel{Label: label, Type: quantity, Unit: unit, Fields: []*lsl.Element{lsl.Leaf("object", "head")}}
}

// mesh is the stream of a set of points; faces with another number of them have no values in it.
func mesh(set *topology.Topology) kind {
	return kind{
		name: "mesh", contentType: "FaceMesh", channels: meshChannels(set.Count), setup: pictureFrame,
		fill: func(_ *person, row []float32, f *ipc.TrackedFace) bool {
			if len(f.Points) != set.Count {
				return false
			}
			for i, p := range f.Points {
				copy(row[3*i:], p[:])
			}
			return true
		},
	}
}

func meshChannels(points int) (all []lsl.Channel) {
	for i := range points {
		for _, axis := range []string{"X", "Y", "Z"} {
			all = append(all, lsl.Channel{
				Label: fmt.Sprintf("point%03d%s", i, axis), Type: "Position" + axis, Unit: "pixels",
				Fields: []*lsl.Element{lsl.Leaf("marker", fmt.Sprintf("point%03d", i)), lsl.Leaf("object", "face")},
			})
		}
	}
	return all
}

func put(row []float32, values ...float64) {
	for i, v := range values {
		row[i] = float32(v)
	}
}
