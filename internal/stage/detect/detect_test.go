package detect

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/links"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// Every frame is passed on in order; every fifth is looked at, and the faces in it are where they were drawn.
func TestEveryFrameGoesOnAndEveryFifthIsLookedAt(t *testing.T) {
	const frames = 12
	r := newRig(t, "synthetic:faces=2,seed=4,format=NV12", frames)
	r.start()
	var sent []ipc.Frame
	for range frames {
		f := r.Frame()
		sent = append(sent, f)
		r.Publish("cam", ipc.KindFrame, &f)
	}
	for i := range sent {
		d := stagetest.Next(t, r.out)
		same := d.Frame
		same.Stamps.Detect = 0
		if same != sent[i] || d.Stamps.Detect < sent[i].Stamps.Capture {
			t.Fatalf("identity %+v, want that of frame %d and a stamp", d.Frame, i)
		}
		if d.Ran != (i%5 == 0) {
			t.Errorf("frame %d: ran %v", i, d.Ran)
		}
		if !d.Ran {
			if len(d.Faces) != 0 || d.Detector != "" {
				t.Errorf("frame %d was not looked at and has %+v", i, d.Faces)
			}
			continue
		}
		if d.Detector != r.cfg.Detect.Model {
			t.Errorf("detector %q", d.Detector)
		}
		checkFaces(t, d, source.SyntheticTruth(r.Params, int64(i)))
	}
	link := r.env.Telemetry.Snapshot().Cameras["cam"].Link // while it is open
	if err := r.stop(); err != nil {                       // a frame is counted after it was sent
		t.Error(err)
	}
	s := r.env.Telemetry.Snapshot()
	if c := s.Cameras["cam"]; s.Backend != "reference" || c.Frames != frames || c.Faces != 3*2 || len(c.Dropped) != 0 || link == nil || link.Transport != "shm" {
		t.Errorf("telemetry %+v", s)
	}
	if held := r.Writer.Stats().Held; held != 0 {
		t.Errorf("%d slots are still held", held)
	}
}

func checkFaces(t *testing.T, d ipc.Detections, truth []source.FaceTruth) {
	t.Helper()
	if len(d.Faces) != len(truth) {
		t.Fatalf("frame %d: %d faces, %d drawn", d.Seq, len(d.Faces), len(truth))
	}
	for _, want := range truth {
		best := math.Inf(1)
		for _, f := range d.Faces {
			best = min(best, math.Hypot(f.KeyPoints[0][0]-want.RightEye[0], f.KeyPoints[0][1]-want.RightEye[1]))
			if f.Score < 0.6 {
				t.Errorf("score %v", f.Score)
			}
		}
		if best > 1 {
			t.Errorf("frame %d: the right eye is %.2f px off", d.Seq, best)
		}
	}
}

// Somebody was lost: one of the next frames is looked at, long before its turn.
func TestLostIdentityIsLookedForAtOnce(t *testing.T) {
	r := newRig(t, "synthetic:faces=1,size=320x240", 8)
	r.cfg.Detect.Every = 1000
	r.start()
	first := r.Frame()
	r.Publish("cam", ipc.KindFrame, &first)
	if d := stagetest.Next(t, r.out); !d.Ran {
		t.Error("the first frame is not looked at")
	}
	for range 3 {
		f := r.Frame()
		r.Publish("cam", ipc.KindFrame, &f)
		if d := stagetest.Next(t, r.out); d.Ran {
			t.Errorf("frame %d is looked at", d.Seq)
		}
	}
	r.Publish("cam", ipc.KindTracks, &ipc.Tracks{Frame: first, Faces: []ipc.TrackedFace{}, Lost: []int{1}})
	for ran := false; !ran; { // the two subjects reach the stage in any order
		f := r.Frame()
		r.Publish("cam", ipc.KindFrame, &f)
		d := stagetest.Next(t, r.out)
		if ran = d.Ran; d.Seq > 900 {
			t.Fatal("nobody looks for the lost identity")
		}
	}
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.out); d.Ran {
		t.Error("one loss makes two frames due")
	}
}

// A frame that was overwritten is dropped with its reason; the next one takes its turn.
func TestOverwrittenFrameGivesItsTurnAway(t *testing.T) {
	r := newRig(t, "synthetic:faces=1,size=320x240", 2)
	r.start()
	old := r.Frame()
	r.Frame()
	r.Frame()
	r.Publish("cam", ipc.KindFrame, &old)
	if d := stagetest.Next(t, r.drops); d.Reason != "overwritten" || d.Stage != "detect" || len(d.Seqs) != 1 || d.Seqs[0] != 0 {
		t.Errorf("drop %+v", d)
	}
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.out); d.Seq != f.Seq || !d.Ran || len(d.Faces) != 1 {
		t.Errorf("frame %d: ran %v, %d faces", d.Seq, d.Ran, len(d.Faces))
	}
	if err := r.stop(); err != nil { // a frame is counted after it was sent
		t.Error(err)
	}
	if c := r.env.Telemetry.Snapshot().Cameras["cam"]; c.Dropped["overwritten"] != 1 || c.Frames != 1 {
		t.Errorf("telemetry %+v", c)
	}
}

func TestGarbageOnTheBusIsIgnored(t *testing.T) {
	r := newRig(t, "synthetic:faces=1,size=320x240", 4)
	r.start()
	for _, kind := range []ipc.Kind{ipc.KindFrame, ipc.KindTracks} {
		if err := r.NC.Publish(ipc.Subject("lab", "cam", kind), []byte(`{"lost": "nonsense"`)); err != nil {
			t.Fatal(err)
		}
	}
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.out); d.Seq != 0 || !d.Ran {
		t.Errorf("%+v", d)
	}
}

func TestStageWithoutItsModelIsPermanent(t *testing.T) {
	cfg := config.Default()
	cfg.Detect.Model, cfg.CUDA.GPU = "./none.onnx", "off"
	err := Run(t.Context(), &stage.Env{Config: cfg, Telemetry: telemetry.New(stage.Detect), Log: stagetest.Quiet})
	if !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("run: %v", err)
	}
}

func TestLostSomebody(t *testing.T) {
	frame := ipc.Frame{Camera: "cam7", Ring: "lab/cam7/1", Width: 640, Height: 480, Format: "BGR"}
	encode := func(m ipc.Tracks) []byte {
		m.Frame = frame
		data, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for what, c := range map[string]struct {
		data []byte
		want bool
	}{
		"nobody is there": {encode(ipc.Tracks{}), false},
		"nobody is lost":  {encode(ipc.Tracks{Faces: []ipc.TrackedFace{{ID: 1}}}), false},
		"one is lost":     {encode(ipc.Tracks{Lost: []int{4}}), true},
		"an empty list":   {append(encode(ipc.Tracks{})[:len(encode(ipc.Tracks{}))-1], []byte(`,"lost":[]}`)...), false},
		"only the word":   {encode(ipc.Tracks{Topology: `x"lost"`}), false},
		"unreadable":      {[]byte(`{"lost":[1]}`), false},
	} {
		camera, lost := lostSomebody(c.data)
		if lost != c.want || lost && camera != "cam7" {
			t.Errorf("%s: %q, %v, want %v", what, camera, lost, c.want)
		}
	}
}

// A frame that need not be looked at goes on while the only worker is busy with another camera's.
func TestFramesGoOnPastABusyWorker(t *testing.T) {
	r := newRig(t, "synthetic:faces=1,size=320x240", 8)
	r.cfg.Infer.Workers = 1
	asked := make(chan *nats.Msg, 8)
	if _, err := r.NC.ChanSubscribe(ipc.Subject(stagetest.Rig, "silent", ipc.KindRing), asked); err != nil {
		t.Fatal(err)
	}
	r.start()
	f := r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.out); !d.Ran {
		t.Fatal("the first frame is not looked at")
	}
	silent := f
	silent.Camera = "silent"
	r.Publish("silent", ipc.KindFrame, &silent)
	attach := stagetest.Next(t, asked) // from here on the worker waits for an answer
	f = r.Frame()
	r.Publish("cam", ipc.KindFrame, &f)
	if d := stagetest.Next(t, r.out); d.Camera != "cam" || d.Seq != f.Seq || d.Ran {
		t.Errorf("%+v", d)
	}
	if err := attach.Respond([]byte(`{"error":"refused","text":"go away"}`)); err != nil {
		t.Error(err)
	}
	if d := stagetest.Next(t, r.drops); d.Camera != "silent" || d.Reason != links.ReasonUnreachable {
		t.Errorf("%+v", d)
	}
	if l := r.env.Telemetry.Snapshot().Cameras["silent"].Link; l == nil || !strings.Contains(l.Reason, "go away") {
		t.Errorf("the frame came after the worker had given up waiting: %+v", l)
	}
}
