package tracker

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// rig is a running tracker stage and somebody who listens to it.
type rig struct {
	*stagetest.Bus
	cfg  config.Config
	env  *stage.Env
	stop func() error
	out  <-chan ipc.Tracks
	acks <-chan ipc.Ack
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b := stagetest.NewBus(t)
	return &rig{
		Bus: b, cfg: b.Config(),
		out:  stagetest.Hear(b, ipc.KindTracks, ipc.DecodeTracks),
		acks: stagetest.Hear(b, ipc.KindAck, ipc.DecodeAck),
	}
}

// start runs the stage until the test ends.
func (r *rig) start() {
	r.T.Helper()
	r.env, r.stop = r.Run(stage.Tracker, r.cfg, Run)
}

// frame n of a camera, 30 a second.
func frame(camera string, n int) ipc.Frame {
	return ipc.Frame{
		Camera: camera, Seq: uint64(n), CaptureNS: 5e9 + int64(n)*33_333_333, WallNS: 1, Ring: "lab/" + camera + "/1", Generation: 2,
		Width: 640, Height: 480, Format: "BGR", Stamps: ipc.Stamps{Capture: 1, Detect: 2, Landmarks: 3},
	}
}

// face is the template around a place, 96 px wide.
func face(cx, cy float64) ipc.FaceLandmarks {
	f := ipc.FaceLandmarks{Presence: 0.9, Blendshapes: make([]float64, 52), Source: ipc.SourceTracked}
	for _, p := range testmodels.Template() {
		f.Points = append(f.Points, [3]float32{float32(cx + 96*p[0]), float32(cy + 96*p[1]), float32(96 * p[2])})
	}
	f.Blendshapes[25] = 0.5
	return f
}

func (r *rig) send(f ipc.Frame, faces ...ipc.FaceLandmarks) ipc.Tracks {
	r.T.Helper()
	m := ipc.Landmarks{Frame: f, Topology: "mediapipe-478", Faces: faces}
	r.Publish(f.Camera, ipc.KindLandmarks, &m)
	return stagetest.Next(r.T, r.out)
}

// A new face becomes somebody with its third frame, keeps its number, and its loss is told once.
func TestTracksOfAFace(t *testing.T) {
	r := newRig(t)
	r.cfg.Tracker.KeepRaw = true
	r.start()
	for n := range 6 {
		f := frame("cam", n)
		got := r.send(f, face(320+float64(n), 240))
		same := got.Frame
		same.Stamps.Tracks = 0
		if same != f || got.Stamps.Tracks == 0 || got.Topology != "mediapipe-478" || len(got.Lost) != 0 {
			t.Fatalf("frame %d: %+v, topology %q, lost %v", n, got.Frame, got.Topology, got.Lost)
		}
		if want := map[bool]int{true: 0, false: 1}[n < 2]; len(got.Faces) != want || got.Faces == nil {
			t.Fatalf("frame %d: %d faces, want %d", n, len(got.Faces), want)
		}
		for _, p := range got.Faces {
			checkFace(t, p, 320+float64(n), 240)
		}
	}
	got := r.send(frame("cam", 6))
	if len(got.Faces) != 0 || !reflect.DeepEqual(got.Lost, []int{1}) {
		t.Errorf("after it left: %d faces, lost %v", len(got.Faces), got.Lost)
	}
	if got = r.send(frame("cam", 7)); len(got.Lost) != 0 {
		t.Errorf("lost twice: %v", got.Lost)
	}
	if err := r.stop(); err != nil { // a frame is counted after it was sent
		t.Error(err)
	}
	if c := r.env.Telemetry.Snapshot().Cameras["cam"]; c.Frames != 8 || c.Faces != 4 {
		t.Errorf("telemetry %+v", c)
	}
}

// A frame whose message cannot be read is accounted for.
func TestUnreadableLandmarks(t *testing.T) {
	r := newRig(t)
	drops := stagetest.Hear(r.Bus, ipc.KindDrops, ipc.DecodeDrop)
	r.start()
	f := frame("cam", 3)
	data, err := f.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	data = append(data[:len(data)-1], `,"topology":"t","faces":[{"points":"none"}]}`...)
	if err := r.NC.Publish(ipc.Subject(stagetest.Rig, "cam", ipc.KindLandmarks), data); err != nil {
		t.Fatal(err)
	}
	if d := stagetest.Next(t, drops); d.Camera != "cam" || d.Reason != links.ReasonBadFrame || !reflect.DeepEqual(d.Seqs, []uint64{3}) {
		t.Errorf("%+v", d)
	}
}

func checkFace(t *testing.T, p ipc.TrackedFace, cx, cy float64) {
	t.Helper()
	if p.ID != 1 || p.Score != 0.9 || len(p.Points) != 478 || len(p.Blendshapes) != 52 || math.Abs(p.Blendshapes[25]-0.5) > 0.05 {
		t.Errorf("face %d, score %v, %d points, blendshapes %v", p.ID, p.Score, len(p.Points), p.Blendshapes)
	}
	if x, y := p.Box[0]+p.Box[2]/2, p.Box[1]+p.Box[3]/2; math.Hypot(x-cx, y-cy) > 5 || math.Abs(p.Box[2]-96) > 1 {
		t.Errorf("box %v, want 96 px around %v, %v", p.Box, cx, cy)
	}
	if p.Raw == nil || len(p.Raw.Points) != 478 || len(p.Raw.Blendshapes) != 52 {
		t.Fatalf("raw values %+v", p.Raw)
	}
	iris := p.Raw.Points[testmodels.RightIris]
	if math.Hypot(float64(iris[0])-(cx-0.18*96), float64(iris[1])-(cy-0.12*96)) > 0.02 {
		t.Errorf("raw iris at %v", iris)
	}
	// The template's irises are level with the corners of the eyes; an iris that looks ahead is 0.2 cm higher.
	if g := p.Gaze; g == nil || g.Left == nil || g.Right == nil || g.Left.Origin[0]-g.Right.Origin[0] < 5 || math.Abs(g.Pitch+11) > 6 || math.Abs(g.Yaw) > 10 {
		t.Errorf("gaze %+v", g)
	}
	if math.Abs(p.Pose.Roll) > 1 || math.Abs(p.Pose.Yaw) > 3 || math.Abs(p.Raw.Pose.Z/92.4-1) > 0.05 { // 554 px focal length × 16 cm / 96 px
		t.Errorf("pose %+v", p.Pose)
	}
}

// A narrow lens makes the same picture of a head that is farther away: by the ratio of the focal lengths.
func TestEachCameraHasItsFieldOfView(t *testing.T) {
	r := newRig(t)
	r.cfg.Cameras = []config.Camera{{Name: "wide", HFOV: 60}, {Name: "narrow", HFOV: 30}}
	r.start()
	z := map[string]float64{}
	for _, camera := range []string{"wide", "narrow"} {
		for n := range 3 {
			if got := r.send(frame(camera, n), face(320, 240)); len(got.Faces) == 1 {
				z[camera] = got.Faces[0].Pose.Z
			}
		}
	}
	want := math.Tan(30*math.Pi/180) / math.Tan(15*math.Pi/180)
	if ratio := z["narrow"] / z["wide"]; math.Abs(ratio/want-1) > 0.05 {
		t.Errorf("distances %v, ratio %.3f, want %.3f", z, ratio, want)
	}
}

// Only who asks for an acknowledgement gets one, when the tracks are out.
func TestAcknowledgements(t *testing.T) {
	r := newRig(t)
	r.start()
	for n := range 4 {
		f := frame("cam", n)
		f.Ack = n%2 == 1
		r.send(f, face(320, 240))
	}
	for _, want := range []uint64{1, 3} {
		if a := stagetest.Next(t, r.acks); a.Camera != "cam" || a.Seq != want {
			t.Errorf("ack %+v, want of frame %d", a, want)
		}
	}
	if len(r.acks) != 0 {
		t.Error("more acknowledgements than were asked for")
	}
}

// A recording that is read in no time is smoothed as it was recorded: the smoothing depends on the frames alone.
func TestRecordingsAreTrackedInTheirOwnTime(t *testing.T) {
	r := newRig(t)
	r.start()
	points := map[string]ipc.Points{}
	for n := range 8 {
		for camera, change := range map[string]func(*ipc.Frame){
			"live":     func(*ipc.Frame) {},
			"recorded": func(f *ipc.Frame) { f.CaptureNS, f.MediaNS = 5e9+int64(n), f.CaptureNS }, // all read within 8 ns
			"hurried":  func(f *ipc.Frame) { f.CaptureNS = 5e9 + int64(n) },
		} {
			f := frame(camera, n)
			change(&f)
			if got := r.send(f, face(320+float64(8*(n%2)), 240)); len(got.Faces) == 1 {
				points[camera] = got.Faces[0].Points
			}
		}
	}
	if len(points["live"]) != 478 || !reflect.DeepEqual(points["live"], points["recorded"]) {
		t.Error("a recording is smoothed otherwise than the same frames live")
	}
	if reflect.DeepEqual(points["live"], points["hurried"]) {
		t.Error("time has no influence on this clip: the comparison above says nothing")
	}
}

func TestGarbageOnTheBusIsIgnored(t *testing.T) {
	r := newRig(t)
	r.start()
	if err := r.NC.Publish(ipc.Subject("lab", "cam", ipc.KindLandmarks), []byte(`{"camera":`)); err != nil {
		t.Fatal(err)
	}
	if got := r.send(frame("cam", 0)); got.Seq != 0 {
		t.Errorf("%+v", got.Frame)
	}
}

func TestStageWithoutItsModelIsPermanent(t *testing.T) {
	cfg := config.Default()
	cfg.Landmarks.Model = "./none.task"
	err := Run(t.Context(), &stage.Env{Config: cfg, Telemetry: telemetry.New(stage.Tracker), Log: stagetest.Quiet})
	if !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("run: %v", err)
	}
}
