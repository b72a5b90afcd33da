package tracker

import (
	"reflect"
	"testing"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/track"
)

func TestOptionsComeFromTheConfiguration(t *testing.T) {
	got := trackOptions(config.Tracker{
		MemorySeconds: 1, ReidentifySeconds: 2, MaxIdentities: 3,
		Smoothing: config.Smoothing{
			Enabled:     true,
			Points:      config.OneEuro{MinCutoff: 4, Beta: 5, DCutoff: 6},
			Blendshapes: config.OneEuro{MinCutoff: 7, Beta: 8, DCutoff: 9},
			Pose:        config.OneEuro{MinCutoff: 10, Beta: 11, DCutoff: 12},
			Gaze:        config.OneEuro{MinCutoff: 13, Beta: 14, DCutoff: 15},
		},
	})
	points, pose := track.OneEuroParams{MinCutoff: 4, Beta: 5, DCutoff: 6}, track.OneEuroParams{MinCutoff: 10, Beta: 11, DCutoff: 12}
	want := track.Options{
		MemorySeconds: 1, ReIDSeconds: 2, ReIDSimilarity: 0.8, MaxFaces: 3,
		Smoothing: track.Smoothing{
			Points: points, Box: points, Blendshapes: track.OneEuroParams{MinCutoff: 7, Beta: 8, DCutoff: 9}, Angles: pose, Position: pose,
			Gaze: track.OneEuroParams{MinCutoff: 13, Beta: 14, DCutoff: 15},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("options %+v\nwant %+v", got, want)
	}
	if !trackOptions(config.Tracker{}).Smoothing.Off {
		t.Error("smoothing is on although it is not enabled")
	}
}

func TestMediaTimeWins(t *testing.T) {
	l := ipc.Landmarks{Frame: ipc.Frame{CaptureNS: 100, Width: 640, Height: 480}}
	if got := observation(l); got.TimeNS != 100 || got.Width != 640 || got.Height != 480 || len(got.Faces) != 0 {
		t.Errorf("live: %+v", got)
	}
	l.MediaNS = 33
	if got := observation(l); got.TimeNS != 33 {
		t.Errorf("recorded: time %d, want 33", got.TimeNS)
	}
}

func TestObservationCarriesWhatWasSeen(t *testing.T) {
	l := ipc.Landmarks{Faces: []ipc.FaceLandmarks{{
		Presence: 0.75, Points: ipc.Points{{10, 40, 1}, {30, 20, 2}, {25, 90, -5}}, Blendshapes: []float64{0.5}, Appearance: []float64{0.6, 0.8},
	}, {}}}
	got := observation(l).Faces
	want := track.Face{
		Box: [4]float64{10, 20, 20, 70}, Presence: 0.75, Points: [][3]float32{{10, 40, 1}, {30, 20, 2}, {25, 90, -5}},
		Blendshapes: []float64{0.5}, Appearance: []float64{0.6, 0.8},
	}
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("faces %+v\nwant %+v", got, want)
	}
	if got[1].Box != [4]float64{} {
		t.Errorf("box of no points: %v", got[1].Box)
	}
}

func TestTrackedFaceKeepsRawOnDemand(t *testing.T) {
	f := track.Tracked{
		ID: 7, Presence: 0.9, Box: [4]float64{1, 2, 3, 4}, Points: [][3]float32{{1, 1, 1}}, Blendshapes: []float64{0.1}, HasPose: true,
		Pose: track.Pose{Pitch: 1, Yaw: 2, Roll: 3, X: 4, Y: 5, Z: 6}, RawPose: track.Pose{Pitch: 10, Yaw: 20, Roll: 30, X: 40, Y: 50, Z: 60},
		Raw:     track.Face{Points: [][3]float32{{2, 2, 2}}, Blendshapes: []float64{0.2}},
		HasGaze: true, Gaze: track.Gaze{Pitch: 7, Yaw: 8, Left: track.EyeGaze{Valid: true, Origin: [3]float64{1, 2, 3}, Direction: [3]float64{0, 0, -1}}},
		RawGaze: track.Gaze{Pitch: 70, Yaw: 80, Right: track.EyeGaze{Valid: true, Origin: [3]float64{4, 5, 6}, Direction: [3]float64{1, 0, 0}}},
	}
	want := ipc.TrackedFace{
		ID: 7, Box: [4]float64{1, 2, 3, 4}, Score: 0.9, Pose: &ipc.Pose{Pitch: 1, Yaw: 2, Roll: 3, X: 4, Y: 5, Z: 6},
		Gaze:        &ipc.Gaze{Pitch: 7, Yaw: 8, Left: &ipc.Eye{Origin: [3]float64{1, 2, 3}, Direction: [3]float64{0, 0, -1}}},
		Blendshapes: []float64{0.1}, Points: ipc.Points{{1, 1, 1}},
	}
	if got := trackedFace(f, false); !reflect.DeepEqual(got, want) {
		t.Errorf("face %+v\nwant %+v", got, want)
	}
	want.Raw = &ipc.RawFace{
		Pose: &ipc.Pose{Pitch: 10, Yaw: 20, Roll: 30, X: 40, Y: 50, Z: 60}, Blendshapes: []float64{0.2}, Points: ipc.Points{{2, 2, 2}},
		Gaze: &ipc.Gaze{Pitch: 70, Yaw: 80, Right: &ipc.Eye{Origin: [3]float64{4, 5, 6}, Direction: [3]float64{1, 0, 0}}},
	}
	if got := trackedFace(f, true); !reflect.DeepEqual(got, want) {
		t.Errorf("face with raw values %+v\nwant %+v", got, want)
	}
	f.HasPose, f.HasGaze = false, false
	if got := trackedFace(f, true); got.Pose != nil || got.Raw.Pose != nil || got.Gaze != nil || got.Raw.Gaze != nil {
		t.Errorf("points that no pose explains have poses %+v and %+v, gazes %+v and %+v", got.Pose, got.Raw.Pose, got.Gaze, got.Raw.Gaze)
	}
}
