package landmarks

import (
	"errors"
	"math"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// look is what the detector says about the drawn faces of a frame.
func (r *rig) look(f ipc.Frame) ipc.Detections {
	d := ipc.Detections{Frame: f, Ran: true, Faces: []ipc.Detection{}}
	for _, face := range source.SyntheticTruth(r.Params, int64(f.Seq)) {
		d.Faces = append(d.Faces, ipc.Detection{
			Box: [4]float64{face.CX - face.Size/2, face.CY - face.Size/2, face.Size, face.Size}, Score: 0.9,
			KeyPoints: [][2]float64{face.RightEye, face.LeftEye, {face.CX, face.CY}},
		})
	}
	return d
}

func (r *rig) checkPoints(got ipc.Landmarks, sourceOf string) {
	r.T.Helper()
	truth := source.SyntheticTruth(r.Params, int64(got.Seq))
	if len(got.Faces) != len(truth) || got.Topology != "mediapipe-478" {
		r.T.Fatalf("frame %d: %d faces of %q, %d drawn", got.Seq, len(got.Faces), got.Topology, len(truth))
	}
	for i, want := range truth {
		f := got.Faces[i]
		right, left := f.Points[testmodels.RightIris], f.Points[testmodels.LeftIris]
		off := max(math.Hypot(float64(right[0])-want.RightEye[0], float64(right[1])-want.RightEye[1]),
			math.Hypot(float64(left[0])-want.LeftEye[0], float64(left[1])-want.LeftEye[1]))
		if off > 0.5 || f.Source != sourceOf || f.Presence < 0.9 || len(f.Blendshapes) != 52 || len(f.Appearance) == 0 {
			r.T.Errorf("frame %d: irises %.2f px off, source %q, presence %v, %d blendshapes, %d values of appearance",
				got.Seq, off, f.Source, f.Presence, len(f.Blendshapes), len(f.Appearance))
		}
	}
}

// One look of the detector is enough: from then on faces are followed by their own points.
func TestFacesAreFollowedAfterOneDetection(t *testing.T) {
	r := newRig(t, "synthetic:faces=2,seed=4,fps=30", 8)
	r.start()
	for i := range 8 {
		f := r.Frame()
		f.CaptureNS = t0 + int64(i)*33e6
		d := ipc.Detections{Frame: f, Faces: []ipc.Detection{}}
		if i == 0 {
			d = r.look(f)
		}
		r.Publish("cam", ipc.KindDetections, &d)
		got := stagetest.Next(t, r.out)
		same := got.Frame
		if same.Stamps.Landmarks = 0; same != f {
			t.Fatalf("identity %+v, want that of frame %d", got.Frame, i)
		}
		r.checkPoints(got, map[bool]string{true: "detection", false: "tracked"}[i == 0])
	}
	if err := r.stop(); err != nil { // a frame is counted after it was sent
		t.Error(err)
	}
	if c := r.env.Telemetry.Snapshot().Cameras["cam"]; c.Frames != 8 || c.Faces != 16 || c.Link == nil {
		t.Errorf("telemetry %+v", c)
	}
}

// Nobody is known and nobody was detected: the frame goes on without a look at its pixels.
func TestFrameWithoutFacesNeedsNoPixels(t *testing.T) {
	r := newRig(t, "synthetic:faces=1", 2)
	r.start()
	old := r.Frame()
	r.Frame()
	r.Frame() // old is overwritten by now
	r.Publish("cam", ipc.KindDetections, &ipc.Detections{Frame: old, Faces: []ipc.Detection{}})
	if got := stagetest.Next(t, r.out); got.Seq != 0 || got.Faces == nil || len(got.Faces) != 0 {
		t.Errorf("%+v", got)
	}
	if c := r.env.Telemetry.Snapshot().Cameras["cam"]; c.Link != nil {
		t.Error("the stage attached to the ring")
	}
	d := r.look(old)
	r.Publish("cam", ipc.KindDetections, &d)
	if drop := stagetest.Next(t, r.drops); drop.Reason != "overwritten" || drop.Stage != "landmarks" || drop.Seqs[0] != 0 {
		t.Errorf("drop %+v", drop)
	}
}

// After a restart of this stage the tracker's last result says where the faces are.
func TestRestartedStageTakesTheTrackersFaces(t *testing.T) {
	r := newRig(t, "synthetic:faces=1,fps=30", 4)
	r.start() // its connection and its drops serve the stage made by hand, whose order of events is certain
	model, err := networks.OpenLandmarks(r.cfg, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	l := &landmarks{env: r.env, links: links.New(r.env), feedback: newFeedback(), book: newBook()}
	l.limits.Store(&r.cfg.Landmarks)
	defer func() { _ = l.links.Close() }()
	finder := &onHost{model, l.links}
	defer func() { _ = finder.Close() }()
	before, f := r.Frame(), r.Frame()
	face := source.SyntheticTruth(r.Params, 0)[0]
	tracked := ipc.TrackedFace{ID: 1}
	for _, p := range testmodels.Template() {
		tracked.Points = append(tracked.Points, [3]float32{float32(face.CX + p[0]*face.Size), float32(face.CY + p[1]*face.Size), 0})
	}
	data, err := (&ipc.Tracks{Frame: before, Faces: []ipc.TrackedFace{tracked}}).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	l.feedback.keep(data)
	f.CaptureNS = before.CaptureNS + 33e6
	l.frames(t.Context(), finder, []ipc.Detections{{Frame: f, Faces: []ipc.Detection{}}})
	r.checkPoints(stagetest.Next(t, r.out), "tracked")
}

func TestStageWithoutItsModelIsPermanent(t *testing.T) {
	cfg := config.Default()
	cfg.Landmarks.Model, cfg.CUDA.GPU = "./none.task", "off"
	err := Run(t.Context(), &stage.Env{Config: cfg, Telemetry: telemetry.New(stage.Landmarks), Log: stagetest.Quiet})
	if !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("run: %v", err)
	}
}
