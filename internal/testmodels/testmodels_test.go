package testmodels

import (
	"fmt"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/infer/onnx"
	_ "facetrack/infer/reference"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
	"facetrack/internal/source"
	"facetrack/topology"
	"facetrack/vision"
)

// tolerance is what the tests of the pipeline rely on, px.
const tolerance = 0.5

func session(t *testing.T, g *infer.Graph, err error) infer.Session {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := infer.Open(g, infer.Options{Backend: "reference"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func detector(t *testing.T) *vision.Detector {
	t.Helper()
	g, err := onnx.Load(Detector())
	d, err := vision.NewDetector("yunet", session(t, g, err), vision.DetectorOptions{ScoreThreshold: 0.6, NMSThreshold: 0.3, MaxFaces: 16})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func landmarker(t *testing.T) *vision.Landmarker {
	t.Helper()
	bundle, err := task.Open(Bundle())
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string) infer.Session {
		data, ok := bundle.Member(name)
		if !ok {
			t.Fatalf("the bundle has no %s", name)
		}
		g, err := tflite.Load(data)
		return session(t, g, err)
	}
	l, err := vision.NewLandmarker(open("face_landmarks_detector.tflite"), open("face_blendshapes.tflite"), vision.LandmarkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// picture draws one frame of a clip.
func picture(t *testing.T, spec string, frame int64) (vision.Image, []source.FaceTruth) {
	t.Helper()
	p, err := source.ParseSynthetic(spec)
	if err != nil {
		t.Fatal(err)
	}
	src := source.NewSynthetic(p)
	if err := src.Skip(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Grab(t.Context()); err != nil {
		t.Fatal(err)
	}
	info := src.Info()
	pix := make([]byte, info.FrameBytes())
	if err := src.Retrieve(pix); err != nil {
		t.Fatal(err)
	}
	return vision.Image{Format: vision.Format(info.Format), Width: info.Width, Height: info.Height, Pix: pix}, source.SyntheticTruth(p, frame)
}

// places are clips and frames that put faces all over the picture; the networks are made for 4:3 and default sizes.
func places() map[string][]int64 {
	return map[string][]int64{
		"synthetic:faces=1,seed=1":                            {0, 60, 120, 180},
		"synthetic:faces=1,seed=5,format=NV12":                {0, 70},
		"synthetic:faces=1,seed=9,format=YUYV":                {0, 70},
		"synthetic:faces=1,seed=2,size=320x240":               {0, 70},
		"synthetic:faces=1,seed=3,size=1280x960":              {0},
		"synthetic:faces=2,seed=4":                            {0, 50},
		"synthetic:faces=4,seed=6,size=1280x960,diameter=192": {0},
	}
}

func overPlaces(t *testing.T, check func(t *testing.T, image vision.Image, truth []source.FaceTruth)) {
	for spec, frames := range places() {
		for _, frame := range frames {
			t.Run(fmt.Sprintf("%s@%d", spec, frame), func(t *testing.T) {
				image, truth := picture(t, spec, frame)
				check(t, image, truth)
			})
		}
	}
}

func off(x, y float64, want [2]float64) float64 { return math.Hypot(x-want[0], y-want[1]) }

func TestDetectorFindsDrawnFaces(t *testing.T) {
	d := detector(t)
	overPlaces(t, func(t *testing.T, image vision.Image, truth []source.FaceTruth) {
		faces, err := d.Detect(image)
		if err != nil {
			t.Fatal(err)
		}
		if len(faces) != len(truth) {
			t.Fatalf("%d faces found, %d drawn", len(faces), len(truth))
		}
		limit := max(tolerance, float64(image.Width)/detectorSize/8) // an eighth of a pixel of what the network sees
		for _, want := range truth {
			best := math.Inf(1)
			var face vision.Face
			for _, f := range faces {
				x, y := f.Box.Center()
				if o := off(x, y, [2]float64{want.CX, want.CY}); o < best {
					best, face = o, f
				}
			}
			if best > limit {
				t.Errorf("box centre %.2f px off", best)
			}
			if math.Abs(face.Box[2]-want.Size) > 0.02*want.Size || math.Abs(face.Box[3]-want.Size) > 0.02*want.Size {
				t.Errorf("box %v around a face of %v px", face.Box, want.Size)
			}
			checkEyes(t, face, want, limit)
		}
	})
}

func checkEyes(t *testing.T, f vision.Face, want source.FaceTruth, limit float64) {
	t.Helper()
	if len(f.KeyPoints) != 5 {
		t.Fatalf("%d key points", len(f.KeyPoints))
	}
	right, left := f.KeyPoints[0], f.KeyPoints[1]
	if o := max(off(right[0], right[1], want.RightEye), off(left[0], left[1], want.LeftEye)); o > limit {
		t.Errorf("an eye is %.2f px off", o)
	}
	mouth := [2]float64{(f.KeyPoints[3][0] + f.KeyPoints[4][0]) / 2, (f.KeyPoints[3][1] + f.KeyPoints[4][1]) / 2}
	if o := off(mouth[0], mouth[1], want.Mouth); o > limit {
		t.Errorf("the mouth is %.2f px off", o)
	}
}

func TestDetectorFindsNobodyInABackground(t *testing.T) {
	image, _ := picture(t, "synthetic:faces=0", 3)
	faces, err := detector(t).Detect(image)
	if err != nil || len(faces) != 0 {
		t.Errorf("%d faces in an empty picture, %v", len(faces), err)
	}
}

// The region is a tenth of a face off, as it is for a moving face: the points are right all the same.
func TestLandmarksFindDrawnFaces(t *testing.T) {
	template := Template()
	findDrawnFaces(t, landmarker(t), topology.MediaPipe, template[:])
}

// The network of our own kind tells all that one can tell.
func TestFaceNetworkFindsDrawnFaces(t *testing.T) {
	g, err := onnx.Load(Face())
	l, err := vision.NewLandmarker(session(t, g, err), nil, vision.LandmarkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	findDrawnFaces(t, l, topology.ICT, FaceTemplate())
	image, truth := picture(t, "synthetic:faces=1", 0)
	results, err := l.Run(image, []vision.ROI{{CX: truth[0].CX, CY: truth[0].CY, Size: truth[0].Size * vision.Margin}})
	if err != nil || len(results[0].Confidence) != topology.ICT.Count || math.Abs(results[0].Confidence[9]-vision.Confidence(FaceSpread)) > 1e-6 {
		t.Fatalf("confidence %v, %v", results[0].Confidence, err)
	}
	if turn := results[0].Turn; turn == nil || *turn != (vision.Turn{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
		t.Errorf("turn %v", turn)
	}
}

func findDrawnFaces(t *testing.T, l *vision.Landmarker, set *topology.Topology, template [][3]float64) {
	t.Helper()
	if l.Topology() != set {
		t.Fatalf("points of %s", l.Topology().Name)
	}
	overPlaces(t, func(t *testing.T, image vision.Image, truth []source.FaceTruth) {
		var rois []vision.ROI
		for _, f := range truth {
			rois = append(rois, vision.ROI{CX: f.CX + 0.1*f.Size, CY: f.CY - 0.05*f.Size, Size: f.Size * vision.Margin})
		}
		results, err := l.Run(image, rois)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range truth {
			checkPoints(t, results[i], want, set, template)
		}
	})
}

func checkPoints(t *testing.T, got vision.FaceResult, want source.FaceTruth, set *topology.Topology, template [][3]float64) {
	t.Helper()
	if got.Presence < 0.9 {
		t.Errorf("presence %v of a face", got.Presence)
	}
	worst := 0.0
	for i, p := range template {
		worst = max(worst, off(got.Points[i][0], got.Points[i][1], [2]float64{want.CX + p[0]*want.Size, want.CY + p[1]*want.Size}))
	}
	if worst > tolerance {
		t.Errorf("a point is %.2f px off", worst)
	}
	right, left := got.Points[set.Eyes[0].Iris], got.Points[set.Eyes[1].Iris]
	if o := max(off(right[0], right[1], want.RightEye), off(left[0], left[1], want.LeftEye)); o > tolerance {
		t.Errorf("an iris is %.2f px off", o)
	}
	for i, v := range got.Blendshapes {
		if math.Abs(v-Blendshape(i)) > 1e-5 {
			t.Fatalf("blendshape %d is %v, want %v", i, v, Blendshape(i))
		}
	}
	if len(got.Blendshapes) != len(vision.BlendshapeNames) {
		t.Errorf("%d blendshapes", len(got.Blendshapes))
	}
}

func TestLandmarksDoubtABackground(t *testing.T) {
	image, _ := picture(t, "synthetic:faces=0", 0)
	results, err := landmarker(t).Run(image, []vision.ROI{{CX: 320, CY: 240, Size: 144}})
	if err != nil || results[0].Presence > 0.001 {
		t.Errorf("presence %v where nobody is, %v", results[0].Presence, err)
	}
}

func TestTemplateIsWhatIsDrawn(t *testing.T) {
	face := Template()
	for i, want := range map[int][2]float64{
		10: {0, -0.5}, 152: {0, 0.5}, RightIris: {-0.18, -0.12}, LeftIris: {0.18, -0.12},
	} {
		if face[i][0] != want[0] || face[i][1] != want[1] {
			t.Errorf("point %d at %v, want %v", i, face[i], want)
		}
	}
	for i, p := range face {
		if math.Hypot(p[0], p[1]) > 0.5 {
			t.Errorf("point %d at %v is outside the disc", i, p)
		}
	}
}
