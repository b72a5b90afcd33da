package ipc_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"facetrack/ipc"
)

func testFrame() ipc.Frame {
	return ipc.Frame{
		Camera: "cam-1", Seq: math.MaxUint64, CaptureNS: 123456789012345, WallNS: 1700000000123456789,
		Ring: "lab/cam-1/7", Slot: 3, Generation: 99, Width: 1920, Height: 1080, Format: "NV12",
		Stamps: ipc.Stamps{Capture: 5, Detect: 6, Tracks: 8}, Ack: true, MediaNS: 9,
	}
}

// grid returns n multiples of 1/scale, which a message carries unchanged.
func grid(r *rand.Rand, n int, scale, limit float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Round((r.Float64()*2-1)*limit*scale) / scale
	}
	return out
}

func testPoints(r *rand.Rand, n int) ipc.Points {
	p := make(ipc.Points, n)
	for i := range p {
		for j, v := range grid(r, 3, 100, 4000) {
			p[i][j] = float32(v)
		}
	}
	return p
}

func testLandmarks(r *rand.Rand, faces, points int) *ipc.Landmarks {
	m := &ipc.Landmarks{Frame: testFrame(), Topology: "mediapipe478", Faces: []ipc.FaceLandmarks{}}
	for range faces {
		v := grid(r, 4, 100, 900)
		m.Faces = append(m.Faces, ipc.FaceLandmarks{
			ROI:      ipc.ROI{CX: v[0], CY: v[1], Size: math.Abs(v[2]), Rotation: 0.12345},
			Presence: 0.98765, Points: testPoints(r, points), Blendshapes: grid(r, 52, 1e5, 1),
			Appearance: grid(r, 8, 1e5, 1), Source: ipc.SourceTracked, Confidence: grid(r, points, 100, 1),
		})
	}
	return m
}

func testTracks(r *rand.Rand, faces int) *ipc.Tracks {
	m := &ipc.Tracks{Frame: testFrame(), Topology: "mediapipe478", Faces: []ipc.TrackedFace{}, Lost: []int{4, 9}}
	for i := range faces {
		v := grid(r, 12, 1000, 90)
		f := ipc.TrackedFace{
			ID: i, Box: [4]float64{-1.25, 2, 300.5, 0}, Score: 0.5,
			Pose:        &ipc.Pose{Pitch: v[0], Yaw: v[1], Roll: v[2], X: v[3], Y: v[4], Z: v[5]},
			Blendshapes: grid(r, 52, 1e5, 1), Points: testPoints(r, 478),
		}
		if i%2 == 0 {
			f.Confidence = grid(r, 478, 100, 1)
			f.Raw = &ipc.RawFace{Pose: &ipc.Pose{Pitch: v[6]}, Blendshapes: grid(r, 52, 1e5, 1), Points: testPoints(r, 478)}
		}
		m.Faces = append(m.Faces, withGaze(f, i, grid(r, 14, 1000, 90)))
	}
	return m
}

// withGaze gives faces both eyes, the left or the right one, or none, in turn.
func withGaze(f ipc.TrackedFace, i int, v []float64) ipc.TrackedFace {
	left, right := &ipc.Eye{Origin: [3]float64(v), Direction: [3]float64{-0.0871, 0, -0.9962}}, &ipc.Eye{Origin: [3]float64(v[3:]), Direction: [3]float64{0, 1, 0}}
	f.Gaze = [...]*ipc.Gaze{{Pitch: v[6], Yaw: v[7], Left: left, Right: right}, {Pitch: v[6], Left: left}, nil, {Yaw: v[7], Right: right}}[i%4]
	if f.Raw != nil {
		f.Raw.Gaze = &ipc.Gaze{Pitch: v[8], Yaw: v[9], Right: right}
	}
	return f
}

func testDetections() *ipc.Detections {
	return &ipc.Detections{Frame: testFrame(), Ran: true, Detector: "yunet", Faces: []ipc.Detection{
		{Box: [4]float64{10.25, 20, 30.5, 40}, Score: 0.91234, KeyPoints: [][2]float64{{1, 2}, {3.75, -4}}},
		{Box: [4]float64{0, 0, 1, 1}, Score: 1, KeyPoints: [][2]float64{}},
	}}
}

// roundTrip checks that m survives its own codec, and that encoding/json reads the same from its text.
func roundTrip[M any](t *testing.T, m *M, decode func([]byte) (M, error)) {
	t.Helper()
	data, err := any(m).(ipc.Message).AppendJSON([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.TrimPrefix(string(data), "before"))
	got, err := decode(data)
	if err != nil {
		t.Fatalf("%v in %.300s", err, data)
	}
	var plain M
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatalf("encoding/json: %v in %.300s", err, data)
	}
	if !reflect.DeepEqual(got, *m) || !reflect.DeepEqual(plain, *m) {
		t.Fatalf("sent %+v\nread %+v\nencoding/json read %+v", *m, got, plain)
	}
	ours, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := decode(ours); err != nil || !reflect.DeepEqual(again, *m) {
		t.Fatalf("from encoding/json's text: %v, read %+v", err, again)
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	frame := testFrame()
	roundTrip(t, &frame, ipc.DecodeFrame)
	roundTrip(t, testDetections(), ipc.DecodeDetections)
	roundTrip(t, testLandmarks(r, 3, 478), ipc.DecodeLandmarks)
	roundTrip(t, testLandmarks(r, 0, 0), ipc.DecodeLandmarks)
	roundTrip(t, testTracks(r, 4), ipc.DecodeTracks)
	roundTrip(t, &ipc.Drop{Camera: "c", Stage: "detect", Reason: "ring \"slot\" überschrieben\n", Seqs: []uint64{1, math.MaxUint64}}, ipc.DecodeDrop)
	roundTrip(t, &ipc.Ack{Camera: "c", Seq: 7}, ipc.DecodeAck)
	roundTrip(t, &ipc.End{Camera: "c", LastSeq: 7, Reason: "end of file"}, ipc.DecodeEnd)
}

func TestTextOfMessages(t *testing.T) {
	frame := testFrame()
	frame.Seq, frame.Ack, frame.MediaNS = 12, false, 0
	const identity = `"camera":"cam-1","seq":12,"t_capture_ns":123456789012345,"t_wall_ns":1700000000123456789,` +
		`"ring":"lab/cam-1/7","slot":3,"generation":99,"width":1920,"height":1080,"format":"NV12",` +
		`"t_ns":{"capture":5,"detect":6,"tracks":8}`
	recorded := frame
	recorded.MediaNS, recorded.Ack = 9, true
	landmarks := ipc.Landmarks{Frame: frame, Topology: "t", Faces: []ipc.FaceLandmarks{{
		ROI:    ipc.ROI{CX: 1.005, CY: -0.001, Size: 3, Rotation: 1.0 / 3},
		Points: ipc.Points{{1.236, -2.5, 1920}}, Blendshapes: []float64{0.1234567, 1}, Source: "detection",
	}}}
	tracks := ipc.Tracks{Frame: frame, Topology: "t", Faces: []ipc.TrackedFace{{ID: 1, Gaze: &ipc.Gaze{
		Pitch: 1.23456, Yaw: -7, Left: &ipc.Eye{Origin: [3]float64{3.1, -2, 60.12345}, Direction: [3]float64{-0.12187, -0.02155, -0.99231}},
	}}}}
	for _, c := range []struct {
		message ipc.Message
		want    string
	}{
		{&tracks, "{" + identity + `,"topology":"t","faces":[{"id":1,"box":[0,0,0,0],"score":0,"pose":null,"gaze":{"pitch":1.235,"yaw":-7,` +
			`"left":{"origin_cm":[3.1,-2,60.123],"direction":[-0.1219,-0.0216,-0.9923]},"right":null},"points":[],"blendshapes":[]}]}`},
		{&frame, "{" + identity + "}"},
		{&recorded, "{" + identity + `,"t_media_ns":9,"ack":true}`},
		{&ipc.Detections{Frame: frame}, "{" + identity + `,"ran":false,"faces":[]}`},
		{&landmarks, "{" + identity + `,"topology":"t","faces":[{"roi":{"cx":1,"cy":0,"size":3,"rotation":0.33333},"presence":0,` +
			`"points":[[1.24,-2.5,1920]],"blendshapes":[0.12346,1],"source":"detection"}]}`},
		{&ipc.Ack{Camera: "c", Seq: 1}, `{"camera":"c","seq":1}`},
	} {
		got, err := c.message.AppendJSON(nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
		}
	}
}

func TestEncodeNamesTheField(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	landmarks := func(f ipc.FaceLandmarks) ipc.Message {
		return &ipc.Landmarks{Frame: testFrame(), Faces: []ipc.FaceLandmarks{{}, f}}
	}
	gaze := func(g ipc.Gaze) ipc.Message {
		return &ipc.Tracks{Frame: testFrame(), Faces: []ipc.TrackedFace{{Gaze: &g}}}
	}
	noRing := testFrame()
	noRing.Ring = ""
	for want, m := range map[string]ipc.Message{
		"faces[1].points[2][y]: NaN":            landmarks(ipc.FaceLandmarks{Points: ipc.Points{{}, {}, {0, float32(nan), 0}}}),
		"faces[1].blendshapes[1]: NaN":          landmarks(ipc.FaceLandmarks{Blendshapes: []float64{0, inf}}),
		"faces[1].presence: NaN":                landmarks(ipc.FaceLandmarks{Presence: nan}),
		"faces[1].points: too many":             landmarks(ipc.FaceLandmarks{Points: make(ipc.Points, ipc.MaxPoints+1)}),
		"faces: too many":                       &ipc.Tracks{Frame: testFrame(), Faces: make([]ipc.TrackedFace, ipc.MaxFaces+1)},
		"faces[0].box[3]: NaN":                  &ipc.Detections{Frame: testFrame(), Faces: []ipc.Detection{{Box: [4]float64{0, 0, 0, nan}}}},
		"faces[0].keypoints[1][0]: NaN":         &ipc.Detections{Frame: testFrame(), Faces: []ipc.Detection{{KeyPoints: [][2]float64{{}, {nan, 0}}}}},
		"faces[0].direction[1]: NaN":            gaze(ipc.Gaze{Right: &ipc.Eye{Direction: [3]float64{0, nan, 0}}}),
		"faces[0].origin_cm[0]: NaN":            gaze(ipc.Gaze{Left: &ipc.Eye{Origin: [3]float64{inf, 0, 0}}}),
		"faces[0].yaw: NaN":                     &ipc.Tracks{Frame: testFrame(), Faces: []ipc.TrackedFace{{Pose: &ipc.Pose{Yaw: nan}}}},
		"ring: invalid value":                   &noRing,
		`participant "a b": not a name`:         &ipc.Tracks{Frame: testFrame(), Faces: []ipc.TrackedFace{{Participant: "a b"}}},
		`camera "a.b": not a name`:              &ipc.Ack{Camera: "a.b"},
		`stage "": not a name`:                  &ipc.Drop{Camera: "a", Reason: "r"},
		"reason: invalid value: 1 to 128 bytes": &ipc.Drop{Camera: "a", Stage: "s"},
	} {
		if out, err := m.AppendJSON(nil); err == nil || out != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
