package vision

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/topology"
)

func detect(t *testing.T, d *Detector, m Image) []Face {
	t.Helper()
	faces, err := d.Detect(m)
	if err != nil {
		t.Fatal(err)
	}
	return faces
}

func TestYuNetCountsTheFacesOfTheClips(t *testing.T) {
	d := newTestDetector(t, "yunet_n_320_320.onnx", DetectorOptions{})
	if got := detect(t, d, readPicture(t, "astronaut.png")); len(got) != 1 {
		t.Errorf("astronaut: %d faces", len(got))
	}
	for clip, want := range map[string]int{"head-pose-face-detection-female-and-male.gif": 2, "face-demographics-walking-and-pause.gif": 3} {
		frames := readClip(t, clip, every(7))
		right := 0
		for _, m := range frames {
			if len(detect(t, d, m)) == want {
				right++
			}
		}
		if right < len(frames)-1 {
			t.Errorf("%s: %d faces in %d of %d frames", clip, want, right, len(frames))
		}
	}
}

func TestYuNet640FindsFacesOfTwentyPixels(t *testing.T) {
	d := newTestDetector(t, "yunet_n_640_640.onnx", DetectorOptions{})
	frames := readClip(t, "classroom.gif", every(11))
	enough := 0
	for _, m := range frames {
		if len(detect(t, d, m)) >= 3 {
			enough++
		}
	}
	if enough*4 < len(frames)*3 {
		t.Errorf("three of four faces in %d of %d frames only", enough, len(frames))
	}
}

func TestBlazeFaceScoresTheAnnotatedPicture(t *testing.T) {
	d := newTestDetector(t, bundle, DetectorOptions{})
	got := detect(t, d, readPicture(t, "sergey.png"))
	if len(got) != 1 || math.Abs(got[0].Score-0.936) > 0.005 {
		t.Fatalf("%+v; want one face of 0.936", got)
	}
}

func TestBlazeFaceReproducesTheAnnotation(t *testing.T) {
	// The annotated picture was made from single bilinear samples at the corners of the input's pixels
	// instead of their centres. Fed with these, the network must give the annotation.
	const side, size = 600.0, 128
	d := newTestDetector(t, bundle, DetectorOptions{})
	m := readPicture(t, "sergey.png")
	corner := side/size/2 - 0.5
	rows := ROI{CX: side/2 - corner, CY: side/2 - corner, Size: side}.rows(size)
	line := make([]int32, 3*size)
	for y := range size {
		newSampler(m).sample(line, rows.at(y))
		RGBSigned.reversed(d.in[3*size*y:3*size*(y+1)], line)
	}
	if err := d.session.Run(1, []infer.Buffer{{Host: d.in}}, []infer.Buffer{{Host: d.out[0]}, {Host: d.out[1]}}); err != nil {
		t.Fatal(err)
	}
	d.maps[0] = Mapping{Scale: side / size}
	got := d.faces(0)
	if len(got) != 1 || math.Abs(got[0].Score-0.93) > 0.005 {
		t.Fatalf("%+v; want one face of 0.93", got)
	}
	for i, want := range (Box{126, 175, 340, 339}) { // read off the picture
		if math.Abs(got[0].Box[i]-want) > 1.5 {
			t.Errorf("box %.1f, want 126 175 340 339", got[0].Box)
			break
		}
	}
	for i, want := range [][2]float64{{226, 264}, {375, 267}, {304, 346}, {301, 419}, {143, 299}, {444, 302}} {
		near2(t, "key point", got[0].KeyPoints[i][0], got[0].KeyPoints[i][1], want[0], want[1], 1.5)
	}
}

func TestDetectionIsTheSameInEveryFormat(t *testing.T) {
	d := newTestDetector(t, "yunet_n_320_320.onnx", DetectorOptions{})
	m := readPicture(t, "astronaut.png")
	want := detect(t, d, m)
	for _, f := range []Format{NV12, YUYV} {
		got := detect(t, d, convert(m, f))
		if len(got) != 1 || got[0].Box.IoU(want[0].Box) < 0.95 || math.Abs(got[0].Score-want[0].Score) > 0.02 {
			t.Errorf("%s: %+v, BGR: %+v", f, got, want)
		}
	}
}

// convert repaints a BGR frame.
func convert(m Image, f Format) Image {
	return paint(f, m.Width, m.Height, func(x, y float64) [3]float64 { return refBilinear(m, x, y) })
}

// settle runs the landmarker on the face's own region until it stays.
func settle(t *testing.T, lm *Landmarker, m Image, r ROI, rounds int) (last FaceResult, shift float64) {
	t.Helper()
	for range rounds {
		got, err := lm.Run(m, []ROI{r})
		if err != nil {
			t.Fatal(err)
		}
		next, err := got[0].Next()
		if err != nil {
			t.Fatal(err)
		}
		shift = math.Hypot(next.CX-r.CX, next.CY-r.CY) + math.Abs(next.Size-r.Size)/2
		last, r = got[0], next
	}
	return last, shift
}

func TestRegionsFromOwnPointsConverge(t *testing.T) {
	d := newTestDetector(t, "yunet_n_320_320.onnx", DetectorOptions{})
	lm := newTestLandmarker(t)
	m := readPicture(t, "astronaut.png")
	faces := detect(t, d, m)
	if len(faces) != 1 {
		t.Fatalf("%d faces", len(faces))
	}
	got, shift := settle(t, lm, m, ROIFromFace(faces[0]), 4)
	if shift > 1 || got.Presence < 0.9 {
		t.Errorf("after 4 rounds the region still moves by %.2f px; presence %.3f", shift, got.Presence)
	}
	smile := got.Blendshapes[44] + got.Blendshapes[45]
	if BlendshapeNames[44] != "mouthSmileLeft" || smile < 0.8 {
		t.Errorf("the astronaut smiles with %.2f of 2", smile)
	}
}

func TestLandmarksOfATiltedPictureMapBack(t *testing.T) {
	d := newTestDetector(t, bundle, DetectorOptions{})
	lm := newTestLandmarker(t)
	m := readPicture(t, "astronaut.png")
	upright, _ := settle(t, lm, m, ROIFromFace(detect(t, d, m)[0]), 3)
	a, b := upright.Points[topology.MediaPipe.Eyes[0].Outer], upright.Points[topology.MediaPipe.Eyes[1].Outer]
	eyes := math.Hypot(b[0]-a[0], b[1]-a[1])
	for _, degrees := range []float64{-30, 30} {
		turn := ROI{CX: 256, CY: 256, Size: 512, Rotation: degrees * math.Pi / 180}
		tilted := paint(BGR, 512, 512, func(x, y float64) [3]float64 {
			x, y = turn.Frame(x/512, y/512)
			return refBilinear(m, x, y)
		})
		faces := detect(t, d, tilted)
		if len(faces) != 1 {
			t.Fatalf("%g°: %d faces", degrees, len(faces))
		}
		got, _ := settle(t, lm, tilted, ROIFromFace(faces[0]), 3)
		sum := 0.0
		for i, p := range got.Points {
			x, y := turn.Frame(p[0]/512, p[1]/512)
			sum += math.Hypot(x-upright.Points[i][0], y-upright.Points[i][1])
		}
		if mean := sum / float64(len(got.Points)) / eyes; mean > 0.02 {
			t.Errorf("%g°: points differ by %.1f %% of the eyes' distance", degrees, 100*mean)
		} else {
			t.Logf("%g°: points differ by %.2f %% of the eyes' distance", degrees, 100*mean)
		}
	}
}

func TestLandmarksAreTheSameInEveryFormat(t *testing.T) {
	lm := newTestLandmarker(t)
	m := readPicture(t, "astronaut.png")
	r := ROI{CX: 225, CY: 124, Size: 169, Rotation: 0.06}
	want, _ := settle(t, lm, m, r, 1)
	for _, f := range []Format{NV12, YUYV} {
		got, _ := settle(t, lm, convert(m, f), r, 1)
		worst := 0.0
		for i, p := range got.Points {
			worst = max(worst, math.Hypot(p[0]-want.Points[i][0], p[1]-want.Points[i][1]))
		}
		if worst > 1.5 {
			t.Errorf("%s: a point is %.2f px off", f, worst)
		}
	}
}
