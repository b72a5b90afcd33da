//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"facetrack/internal/testutil"
	"facetrack/ipc"
	"facetrack/track"
	"facetrack/vision"
)

// look is one sight of a face with both eyes open: angles in degrees, and what the blendshapes say.
type look struct {
	pitch, yaw             float64 // gaze, from the direction to the lens
	headPitch, headYaw     float64 // likewise
	inHeadPitch, inHeadYaw float64 // gaze, relative to the head
	up, left               float64 // blendshapes
}

// blendshape is the raw score of a name.
func blendshape(t *testing.T, f *ipc.TrackedFace, name string) float64 {
	t.Helper()
	i := slices.Index(vision.BlendshapeNames[:], name)
	if i < 0 {
		t.Fatalf("no blendshape %s", name)
	}
	return f.Raw.Blendshapes[i]
}

// looks reads the raw gazes of a recording by identity. yaw is positive towards the subject's own left.
func looks(t *testing.T, all []ipc.Tracks) map[int][]look {
	t.Helper()
	people := map[int][]look{}
	for _, m := range all {
		for i := range m.Faces {
			f := &m.Faces[i]
			g, p := f.Raw.Gaze, f.Raw.Pose
			if g == nil || p == nil || g.Left == nil || g.Right == nil {
				continue
			}
			var l look
			var lens, both [3]float64
			for k := range lens {
				lens[k], both[k] = -(g.Left.Origin[k]+g.Right.Origin[k])/2, g.Left.Direction[k]+g.Right.Direction[k]
			}
			lensPitch, lensYaw := track.DirectionAngles(lens)
			l.pitch, l.yaw, l.headPitch, l.headYaw = g.Pitch-lensPitch, g.Yaw-lensYaw, p.Pitch-lensPitch, p.Yaw-lensYaw
			l.inHeadPitch, l.inHeadYaw = track.DirectionAngles(track.RotationFromAngles(p.Pitch, p.Yaw, p.Roll).ToHead(both))
			score := func(name string) float64 { return blendshape(t, f, name) }
			l.up = score("eyeLookUpLeft") + score("eyeLookUpRight") - score("eyeLookDownLeft") - score("eyeLookDownRight")
			l.left = score("eyeLookOutLeft") - score("eyeLookInLeft") + score("eyeLookInRight") - score("eyeLookOutRight")
			people[f.ID] = append(people[f.ID], l)
		}
	}
	return people
}

// spread is mean and standard deviation of one value of looks.
func spread(all []look, value func(look) float64) (mean, sd float64) {
	for _, l := range all {
		mean += value(l) / float64(len(all))
	}
	for _, l := range all {
		sd += (value(l) - mean) * (value(l) - mean) / float64(len(all))
	}
	return mean, math.Sqrt(sd)
}

// correlation is Pearson's r.
func correlation(all []look, a, b func(look) float64) float64 {
	meanA, sdA := spread(all, a)
	meanB, sdB := spread(all, b)
	r, _ := spread(all, func(l look) float64 { return (a(l) - meanA) * (b(l) - meanB) / (sdA * sdB) })
	return r
}

func pitch(l look) float64     { return l.pitch }
func yaw(l look) float64       { return l.yaw }
func headPitch(l look) float64 { return l.headPitch }

// On real clips gaze in the head follows the blendshapes of the eyes, which another network draws from other points, and who
// nods at somebody keeps looking there.
func TestGazeOnRealClips(t *testing.T) {
	assets := testutil.Assets(t) // the twins are in package track, and TestRecordedLine
	t.Setenv("FACETRACK_ASSETS", assets)
	for name, nods := range map[string]bool{
		"head-pose-face-detection-female-and-male.gif": false, "face-demographics-walking-and-pause.gif": false, "walk.mkv": false,
		"yes.mkv": true, "no.mkv": true,
	} {
		t.Run(name, func(t *testing.T) {
			for id, all := range looks(t, gazeOf(t, clip(t, assets, name))) {
				if len(all) < 30 {
					t.Errorf("identity %d: %d sights of both eyes", id, len(all))
					continue
				}
				across := correlation(all, func(l look) float64 { return l.inHeadYaw }, func(l look) float64 { return l.left })
				up := correlation(all, func(l look) float64 { return l.inHeadPitch }, func(l look) float64 { return l.up })
				t.Logf("identity %d: r %.2f sideways, %.2f upwards, %d sights", id, across, up, len(all))
				if across < 0.7 || up < 0.7 {
					t.Errorf("identity %d: gaze and blendshapes correlate with %.2f sideways and %.2f upwards, want ≥ 0.7", id, across, up)
				}
				if nods {
					checkNod(t, all)
				}
			}
		})
	}
}

// checkNod wants a gaze that stays near the lens and moves less than the head.
func checkNod(t *testing.T, all []look) {
	t.Helper()
	meanPitch, sdPitch := spread(all, pitch)
	meanYaw, sdYaw := spread(all, yaw)
	_, sdHead := spread(all, headPitch)
	t.Logf("gaze %.1f±%.1f° up and %.1f±%.1f° sideways of the lens; the head nods by ±%.1f°", meanPitch, sdPitch, meanYaw, sdYaw, sdHead)
	if math.Hypot(meanPitch, meanYaw) > 6 || sdHead < 5 || sdPitch > 0.7*sdHead {
		t.Errorf("gaze %.1f±%.1f° up and %.1f±%.1f° sideways of the lens, head ±%.1f°; want within 6° of it and steadier than the head", meanPitch, sdPitch, meanYaw, sdYaw, sdHead)
	}
}

// Who looks into the lens of a photograph has a gaze near it.
func TestGazeIntoTheLens(t *testing.T) {
	assets := testutil.Assets(t) // the twin is track's TestGazeSigns
	t.Setenv("FACETRACK_ASSETS", assets)
	for name, limit := range map[string]float64{"astronaut.png": 5, "sergey.png": 6} { // degrees; nobody is calibrated
		t.Run(name, func(t *testing.T) {
			picture, err := os.ReadFile(clip(t, assets, name))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			for i := range 6 { // nobody is published before the third frame
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.png", i)), picture, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all := looks(t, gazeOf(t, folder))[1]
			if len(all) == 0 {
				t.Fatal("no gaze")
			}
			up, _ := spread(all, pitch)
			across, _ := spread(all, yaw)
			t.Logf("%.1f° up and %.1f° sideways of the lens", up, across)
			if math.Hypot(up, across) > limit {
				t.Errorf("gaze %.1f° up and %.1f° sideways of the lens, want within %g°", up, across, limit)
			}
		})
	}
}

// gazeOf records a source with the public networks.
func gazeOf(t *testing.T, from string) []ipc.Tracks {
	t.Helper()
	r := prepare(t)
	config := r.write("facetrack.yaml", "tracker: {keep_raw: true}\n")
	r.up("--config", config, "--source", from, "--pace", "max", "--no-lsl", "--record", r.path("a.jsonl")).mustEnd()
	return tracks(t, r.path("a.jsonl"))
}
