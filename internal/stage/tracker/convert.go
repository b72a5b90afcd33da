package tracker

import (
	"facetrack/ipc"
	"facetrack/track"
)

func observation(l ipc.Landmarks) track.Observation {
	obs := track.Observation{TimeNS: l.TimeNS(), Width: l.Width, Height: l.Height}
	for _, f := range l.Faces {
		obs.Faces = append(obs.Faces, track.Face{
			Box: pointsBox(f.Points), Presence: f.Presence, Points: f.Points, Blendshapes: f.Blendshapes, Appearance: f.Appearance,
		})
	}
	return obs
}

// pointsBox is the upright box around the points: x, y, width, height in px.
func pointsBox(points ipc.Points) [4]float64 {
	if len(points) == 0 {
		return [4]float64{}
	}
	x0, y0, x1, y1 := points[0][0], points[0][1], points[0][0], points[0][1]
	for _, p := range points[1:] {
		x0, x1, y0, y1 = min(x0, p[0]), max(x1, p[0]), min(y0, p[1]), max(y1, p[1])
	}
	return [4]float64{float64(x0), float64(y0), float64(x1 - x0), float64(y1 - y0)}
}

func trackedFace(f track.Tracked, keepRaw bool) ipc.TrackedFace {
	out := ipc.TrackedFace{
		ID: f.ID, Box: f.Box, Score: f.Presence, Pose: pose(f.Pose, f.HasPose), Gaze: gaze(f.Gaze, f.HasGaze),
		Blendshapes: f.Blendshapes, Points: f.Points,
	}
	if keepRaw {
		out.Raw = &ipc.RawFace{
			Pose: pose(f.RawPose, f.HasPose), Gaze: gaze(f.RawGaze, f.HasGaze), Blendshapes: f.Raw.Blendshapes, Points: f.Raw.Points,
		}
	}
	return out
}

func pose(p track.Pose, fits bool) *ipc.Pose {
	if !fits {
		return nil
	}
	return &ipc.Pose{
		Pitch: p.Pitch, Yaw: p.Yaw, Roll: p.Roll, X: p.X, Y: p.Y, Z: p.Z,
	}
}

func gaze(g track.Gaze, known bool) *ipc.Gaze {
	if !known {
		return nil
	}
	return &ipc.Gaze{Pitch: g.Pitch, Yaw: g.Yaw, Left: eye(g.Left), Right: eye(g.Right)}
}

func eye(e track.EyeGaze) *ipc.Eye {
	if !e.Valid {
		return nil
	}
	return &ipc.Eye{Origin: e.Origin, Direction: e.Direction}
}
