package lslout

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/lsl"
)

// configured makes streams that nobody but this test finds.
func configured(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Rig = stagetest.Rig
	cfg.LSL.LoopbackOnly, cfg.LSL.SessionID = true, strings.ReplaceAll(t.Name(), "/", "-")
	cfg.Landmarks.Model = "some-model"
	return cfg
}

// surroundings have no server.
func surroundings(t *testing.T, log *slog.Logger) *stage.Env {
	t.Helper()
	return &stage.Env{Name: stage.LSLOut, Config: configured(t), Telemetry: telemetry.New(stage.LSLOut), Log: log, Ready: func() {}}
}

func streamsOf(t *testing.T, env *stage.Env) *cameraStreams {
	t.Helper()
	s := newCameraStreams(env, "cam")
	t.Cleanup(func() { _ = s.close() })
	return s
}

// Users select channels by these names: 52 scores, 6 numbers of the head, 2 of the books.
func TestChannels(t *testing.T) {
	got := channels()
	if len(got) != 52+6+2 {
		t.Fatalf("%d channels", len(got))
	}
	seen := map[string]bool{}
	for i, c := range got {
		if c.Label == "" || c.Type == "" || c.Unit == "" || seen[c.Label] {
			t.Errorf("channel %d: %+v", i, c)
		}
		seen[c.Label] = true
		if isScore := c.Type == "Blendshape" && c.Unit == "normalized"; isScore != (i < 52) {
			t.Errorf("channel %d: %+v", i, c)
		}
	}
	for i, label := range map[int]string{
		0: "_neutral", 9: "eyeBlinkLeft", 25: "jawOpen", 44: "mouthSmileLeft", 51: "noseSneerRight",
		52: "headPitch", 53: "headYaw", 54: "headRoll", 55: "headX", 56: "headY", 57: "headZ", 58: "confidence", 59: "frameNumber",
	} {
		if got[i].Label != label {
			t.Errorf("channel %d is %q, want %q", i, got[i].Label, label)
		}
	}
	if got[53].Unit != "degrees" || got[57].Unit != "centimeters" || got[59].Unit != "count" {
		t.Errorf("units %q, %q, %q", got[53].Unit, got[57].Unit, got[59].Unit)
	}
}

func TestSampleOfAFace(t *testing.T) {
	f := &ipc.TrackedFace{Score: 0.75, Pose: &ipc.Pose{Pitch: 1, Yaw: 2, Roll: 3, X: 4, Y: 5, Z: 6}}
	for i := range 52 {
		f.Blendshapes = append(f.Blendshapes, float64(i)/100)
	}
	got := sample(f, 77)
	if len(got) != len(channels()) {
		t.Fatalf("%d values for %d channels", len(got), len(channels()))
	}
	for i := range 52 {
		if got[i] != float32(i)/100 {
			t.Errorf("value %d is %v", i, got[i])
		}
	}
	for i, want := range []float32{1, 2, 3, 4, 5, 6, 0.75, 77} {
		if got[52+i] != want {
			t.Errorf("%s is %v, want %v", channels()[52+i].Label, got[52+i], want)
		}
	}
}

func isNaN(v float32) bool { return math.IsNaN(float64(v)) }

func TestSampleOfAnAbsentFace(t *testing.T) {
	got := sample(nil, 1<<24)
	for i, v := range got[:58] {
		if !isNaN(v) {
			t.Errorf("value %d is %v, want NaN", i, v)
		}
	}
	if got[58] != 0 || got[59] != 1<<24 {
		t.Errorf("confidence %v, frame number %v", got[58], got[59])
	}
}

// A doubted face has points and no blendshapes: its scores are unknown, its pose is not.
func TestSampleWithoutBlendshapes(t *testing.T) {
	got := sample(&ipc.TrackedFace{Score: 0.25, Pose: &ipc.Pose{Z: 50}}, 3)
	if !isNaN(got[0]) || !isNaN(got[51]) || got[57] != 50 || got[58] != 0.25 || got[59] != 3 {
		t.Errorf("sample %v", got)
	}
	got = sample(&ipc.TrackedFace{Blendshapes: make([]float64, 200)}, 3) // more than there are channels
	if len(got) != 60 || got[51] != 0 || got[59] != 3 {
		t.Errorf("sample %v", got)
	}
}

func TestStreamSaysWhatItIs(t *testing.T) {
	s := streamsOf(t, surroundings(t, stagetest.Quiet))
	o, err := s.open(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	got := o.Info()
	if got.Name != "facetrack lab cam face 2" || got.Type != "FaceExpression" || got.SourceID != "facetrack:lab:cam:face:2" ||
		got.ChannelCount != 60 || got.NominalRate != 0 || got.Format != lsl.Float32 || got.SessionID != t.Name() {
		t.Errorf("info %+v", got)
	}
	if d := got.Desc; len(d.Channels) != 60 || d.Acquisition.Model != "some-model" || !d.Synchronization.CanDropSamples {
		t.Errorf("description %+v", d)
	}
	if again, err := s.open(t.Context(), 2); again != o || err != nil {
		t.Errorf("opened twice: %v", err)
	}
}

func TestStreamsAreLimited(t *testing.T) {
	var log bytes.Buffer
	env := surroundings(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	env.Config.LSL.MaxStreams = 2
	s := streamsOf(t, env)
	for id := 1; id <= 2; id++ {
		if _, err := s.open(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := s.open(t.Context(), 3); !errors.Is(err, errTooMany) {
			t.Errorf("a third stream: %v", err)
		}
	}
	if _, err := s.open(t.Context(), 1); err != nil {
		t.Errorf("a stream that is there: %v", err)
	}
	if n := strings.Count(log.String(), "lsl.max_streams"); n != 1 {
		t.Errorf("the limit is logged %d times, want once:\n%s", n, log.String())
	}
	if err := errors.Join(s.close(), s.close()); err != nil || len(s.slots) != 0 {
		t.Errorf("close: %v, %d streams left", err, len(s.slots))
	}
}

// Every stream of a camera gets one sample a frame, at the frame's capture instant.
func TestEveryFrameIsASampleOfEveryStream(t *testing.T) {
	env := surroundings(t, stagetest.Quiet)
	env.Config.LSL.MaxStreams = 2
	o := &output{env: env, cameras: map[string]*cameraStreams{}}
	t.Cleanup(func() { _ = o.close() })
	if err := o.openFirst(t.Context(), config.Camera{Name: "cam"}); err != nil {
		t.Fatal(err)
	}
	first := o.cameras["cam"].slots[1]
	if len(o.cameras["cam"].slots) != 1 || first == nil {
		t.Fatalf("streams before anybody is seen: %v", o.cameras["cam"].slots)
	}
	one := subscribe(t, first)
	o.frame(t.Context(), tracks(10, face(1, 0.5)))
	o.frame(t.Context(), tracks(11, face(2, 0.25)))
	two := subscribe(t, o.cameras["cam"].slots[2])
	o.frame(t.Context(), tracks(12, face(1, 0.125), face(2, 1), face(3, 1)))

	one.expect(10, true, 0.5)
	one.expect(11, false, 0)
	one.expect(12, true, 0.125)
	two.expect(12, true, 1)
	s := env.Telemetry.Snapshot().Cameras["cam"]
	if s.Frames != 3 || s.Faces != 5 || fmt.Sprint(s.Dropped) != "map[too-many-streams:1]" {
		t.Errorf("telemetry %+v", s)
	}
}
