package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/topology"
)

// kept is a sink that keeps all rows.
type kept struct {
	t       *testing.T
	streams map[string]*keptStream // by name without "facetrack lab "
	order   []string
	refuse  string // the name of a stream that cannot be opened
}

type keptStream struct {
	info   lsl.StreamInfo
	stamps []float64
	rows   [][]float32
	texts  []string
	closed bool
}

var errRefused = errors.New("refused")

func (k *kept) Open(info lsl.StreamInfo) (Stream, error) {
	name := strings.TrimPrefix(info.Name, "facetrack lab ")
	if name == k.refuse {
		return nil, errRefused
	}
	if _, err := info.XML(); err != nil || k.streams[name] != nil {
		k.t.Errorf("stream %q: %v, there already: %v", name, err, k.streams[name] != nil)
	}
	s := &keptStream{info: info}
	k.streams[name], k.order = s, append(k.order, name)
	return s, nil
}

func (s *keptStream) Push(ts float64, values []float32) error {
	if len(values) != s.info.ChannelCount {
		return fmt.Errorf("%d values for %d channels", len(values), s.info.ChannelCount)
	}
	s.stamps, s.rows = append(s.stamps, ts), append(s.rows, append([]float32{}, values...))
	return nil
}

func (s *keptStream) PushString(ts float64, values ...string) error {
	s.stamps, s.texts = append(s.stamps, ts), append(s.texts, values...)
	return nil
}

func (s *keptStream) Close() error { s.closed = true; return nil }

// value is that of a channel in a row.
func (s *keptStream) value(t *testing.T, row int, label string) float32 {
	t.Helper()
	for i, c := range s.info.Desc.Channels {
		if c.Label == label {
			return s.rows[row][i]
		}
	}
	t.Fatalf("%s has no channel %q", s.info.Name, label)
	return 0
}

const scene = `
cameras:
  - {name: a, source: x, hfov_degrees: 60, latency_ms: 20}
  - {name: b, source: y}
participants:
  - {name: mother, camera: a, area: [0, 0, 0.5, 1], interocular_mm: 60}
  - {name: child, camera: a, area: [0.5, 0, 1, 1]}
synchrony: {channels: [jawOpen, mouthSmileLeft]}
`

func newSet(t *testing.T, text string) (*Set, *kept, *strings.Builder) {
	t.Helper()
	cfg, err := config.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, log := &kept{t: t, streams: map[string]*keptStream{}}, &strings.Builder{}
	s, err := New(cfg, k, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, k, log
}

// frame number seq is taken seq·0.1 s after second 100.
func frame(camera string, seq uint64, faces ...ipc.TrackedFace) *ipc.Tracks {
	return &ipc.Tracks{Faces: faces, Frame: ipc.Frame{Camera: camera, Seq: seq, CaptureNS: 100e9 + int64(seq)*1e8, Width: 640, Height: 480}}
}

func face(id int, name string) ipc.TrackedFace {
	f := ipc.TrackedFace{
		ID: id, Participant: name, Score: 0.75, Blendshapes: make([]float64, 52), Points: make(ipc.Points, 478),
		Pose: &ipc.Pose{Pitch: 10, Yaw: -20, Roll: 30, X: 6.3, Y: -12.6, Z: 63},
		Gaze: &ipc.Gaze{Left: &ipc.Eye{Direction: [3]float64{0, 0, -1}}, Right: &ipc.Eye{Direction: [3]float64{0, 0, -1}}},
	}
	for i := range f.Blendshapes {
		f.Blendshapes[i] = float64(i) / 64
	}
	for i := range f.Points {
		f.Points[i] = [3]float32{float32(i), float32(2 * i), -float32(i)}
	}
	return f
}

// sourceID of a stream begins with machine and rig.
func sourceID(t *testing.T, rest string) string {
	t.Helper()
	host, err := os.Hostname()
	must(t, err)
	return "facetrack:" + host + ":lab:" + rest
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isNaN(v float32) bool { return math.IsNaN(float64(v)) }

func TestRowsOfNamedParticipants(t *testing.T) {
	s, k, _ := newSet(t, scene)
	must(t, s.Tracks(frame("a", 1, face(7, "child"))))
	must(t, s.Tracks(frame("a", 2)))
	must(t, s.Tracks(frame("a", 3, face(3, ""), face(9, "mother")))) // 3 is nobody of the configuration
	want := []string{
		"events", "mother child synchrony", "mother expression", "mother head", "mother gaze", "child expression", "child head", "child gaze",
	}
	if strings.Join(k.order, ",") != strings.Join(want, ",") {
		t.Fatalf("streams %q\nwant %q", k.order, want)
	}
	for name, inFrame := range map[string]uint64{"child": 1, "mother": 3} {
		for _, kind := range []string{"expression", "head", "gaze"} {
			stream := k.streams[name+" "+kind]
			if len(stream.rows) != 3 {
				t.Fatalf("%s %s: %d rows for 3 frames", name, kind, len(stream.rows))
			}
			for i := range stream.rows {
				seq := uint64(i) + 1
				if want := 100 + float64(seq)/10 - 0.02; math.Abs(stream.stamps[i]-want) > 1e-9 {
					t.Errorf("%s %s: row %d is stamped %v, its picture was taken at %v", name, kind, i, stream.stamps[i], want)
				}
				if got := stream.value(t, i, "FrameNumber"); got != float32(seq) {
					t.Errorf("%s %s: row %d is of frame %v", name, kind, i, got)
				}
				confidence := stream.value(t, i, "Confidence")
				first := stream.rows[i][0]
				switch {
				case seq == inFrame && confidence != 0.75:
					t.Errorf("%s %s: confidence %v in frame %d", name, kind, confidence, seq)
				case seq != inFrame && (confidence != 0 || !isNaN(first)):
					t.Errorf("%s %s: absent in frame %d, confidence %v, first value %v", name, kind, seq, confidence, first)
				}
			}
		}
	}
	must(t, s.Close())
	for name, stream := range k.streams {
		if !stream.closed {
			t.Errorf("%s is open", name)
		}
	}
}

func TestExpression(t *testing.T) {
	s, k, _ := newSet(t, scene)
	must(t, s.Tracks(frame("a", 1, face(1, "mother"))))
	e := k.streams["mother expression"]
	if e.info.Type != "FaceExpression" || e.info.ChannelCount != 54 || e.info.SourceID != sourceID(t, "mother:expression") || e.info.NominalRate != 0 {
		t.Errorf("%+v", e.info)
	}
	for i, label := range map[int]string{0: "_neutral", 9: "eyeBlinkLeft", 25: "jawOpen", 51: "noseSneerRight", 52: "Confidence", 53: "FrameNumber"} {
		if got := e.info.Desc.Channels[i]; got.Label != label || i < 53 && got.Unit != "normalized" {
			t.Errorf("channel %d is %+v, want %s", i, got, label)
		}
	}
	for i := range 52 {
		if e.rows[0][i] != float32(i)/64 {
			t.Errorf("value %d is %v", i, e.rows[0][i])
		}
	}
	// A doubted face has no blendshapes; more of them than there are names are left out.
	few, many := face(1, "mother"), face(1, "mother")
	few.Blendshapes, many.Blendshapes = nil, make([]float64, 200)
	must(t, s.Tracks(frame("a", 2, few)))
	must(t, s.Tracks(frame("a", 3, many)))
	if !isNaN(e.rows[1][0]) || e.rows[1][52] != 0 || e.rows[2][51] != 0 || e.rows[2][53] != 3 {
		t.Errorf("rows %v, %v", e.rows[1], e.rows[2])
	}
}

func TestHead(t *testing.T) {
	s, k, _ := newSet(t, scene)
	noPose := face(2, "child")
	noPose.Pose = nil
	must(t, s.Tracks(frame("a", 1, face(1, "mother"), noPose)))
	must(t, s.Tracks(frame("b", 1, face(1, ""))))
	h := k.streams["mother head"]
	if h.info.Type != "MoCap" || h.info.ChannelCount != 12 {
		t.Errorf("%+v", h.info)
	}
	// Pupils 60 mm apart where the model's are 63: all is nearer by as much.
	for label, want := range map[string]float64{
		"headX": 0.06, "headY": -0.12, "headZ": 0.6, "headPitch": 10, "headHeading": -20, "headRoll": 30, "Confidence": 0.75, "FrameNumber": 1,
	} {
		if got := h.value(t, 0, label); math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", label, got, want)
		}
	}
	// R = R_y(20°) · R_x(-10°) · R_z(-30°) as a quaternion, by the half-angle formulas.
	half := func(degrees float64) (c, s float64) {
		return math.Cos(degrees * math.Pi / 360), math.Sin(degrees * math.Pi / 360)
	}
	product := func(a, b [4]float64) [4]float64 {
		return [4]float64{
			a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3], a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
			a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1], a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0],
		}
	}
	cy, sy := half(20)
	cx, sx := half(-10)
	cz, sz := half(-30)
	want := product(product([4]float64{cy, 0, sy, 0}, [4]float64{cx, sx, 0, 0}), [4]float64{cz, 0, 0, sz})
	for i, axis := range []string{"W", "X", "Y", "Z"} {
		if got := h.value(t, 0, "headQuaternion"+axis); math.Abs(float64(got)-want[i]) > 1e-6 {
			t.Errorf("quaternion %s is %v, want %v", axis, got, want[i])
		}
	}
	if c := k.streams["child head"]; !isNaN(c.value(t, 0, "headPitch")) || c.value(t, 0, "Confidence") != 0 {
		t.Errorf("without a pose: %v", c.rows[0])
	}
	// The field of view of camera b is not known: angles, but no positions.
	if b := k.streams["b face 1 head"]; !isNaN(b.value(t, 0, "headZ")) || b.value(t, 0, "headPitch") != 10 || isNaN(b.value(t, 0, "headQuaternionW")) {
		t.Errorf("without a field of view: %v", b.rows[0])
	}
}

func TestGaze(t *testing.T) {
	s, k, _ := newSet(t, scene)
	looking := face(1, "mother")
	direction := [3]float64{0.6, 0, -0.8} // to image right, which is the subject's left
	looking.Gaze = &ipc.Gaze{
		Yaw: math.Atan2(0.6, 0.8) * 180 / math.Pi, Left: &ipc.Eye{Origin: [3]float64{6.3, 0, 63}, Direction: direction}, Right: &ipc.Eye{Direction: direction},
	}
	winking := face(2, "child")
	winking.Gaze = &ipc.Gaze{Pitch: 30, Right: &ipc.Eye{Origin: [3]float64{1, 2, 63}, Direction: [3]float64{0, -0.5, -math.Sqrt(0.75)}}}
	must(t, s.Tracks(frame("a", 1, looking, winking)))
	asleep := face(1, "mother")
	asleep.Gaze = nil
	must(t, s.Tracks(frame("a", 2, asleep)))
	g := k.streams["mother gaze"]
	if g.info.Type != "Gaze" || g.info.ChannelCount != 19 {
		t.Errorf("%+v", g.info)
	}
	for label, want := range map[string]float64{
		"leftPositionX": 0.06, "leftPositionZ": 0.6, "leftDirectionX": 0.6, "leftDirectionZ": -0.8, "rightDirectionX": 0.6,
		"bothDirectionX": 0.6, "bothDirectionY": 0, "bothDirectionZ": -0.8, "bothHeading": 36.8699, "bothPitch": 0, "Confidence": 0.75,
	} {
		if got := g.value(t, 0, label); math.Abs(float64(got)-want) > 1e-5 {
			t.Errorf("%s is %v, want %v", label, got, want)
		}
	}
	if !isNaN(g.value(t, 1, "bothDirectionX")) || !isNaN(g.value(t, 1, "leftDirectionX")) || g.value(t, 1, "Confidence") != 0 {
		t.Errorf("closed eyes: %v", g.rows[1])
	}
	c := k.streams["child gaze"]
	if !isNaN(c.value(t, 0, "leftDirectionX")) || !isNaN(c.value(t, 0, "leftPositionX")) || math.Abs(float64(c.value(t, 0, "bothDirectionY"))+0.5) > 1e-6 ||
		math.Abs(float64(c.value(t, 0, "rightPositionZ"))-0.63) > 1e-6 {
		t.Errorf("one eye: %v", c.rows[0])
	}
	for _, channel := range g.info.Desc.Channels[:17] {
		if eye := channel.Fields[0].Text; !strings.HasPrefix(channel.Label, eye) {
			t.Errorf("%s is of eye %q", channel.Label, eye)
		}
	}
}

func TestMeshIsThereWhenAskedFor(t *testing.T) {
	s, k, _ := newSet(t, scene+"lsl: {mesh: true}\n")
	must(t, s.Tracks(frame("a", 5, face(1, "mother"))))
	m := k.streams["mother mesh"]
	if m == nil || m.info.ChannelCount != 3*478+2 {
		t.Fatalf("mesh %+v", m)
	}
	for label, want := range map[string]float32{"point000X": 0, "point001Y": 2, "point477X": 477, "point477Z": -477, "FrameNumber": 5} {
		if got := m.value(t, 0, label); got != want {
			t.Errorf("%s is %v", label, got)
		}
	}
	few := face(1, "mother")
	few.Points = few.Points[:3]
	must(t, s.Tracks(frame("a", 6, few)))
	if !isNaN(m.value(t, 1, "point002X")) || m.value(t, 1, "Confidence") != 0 {
		t.Error("points of another set have values")
	}
}

// The stream has the points of the set that the frames name, and says which that is.
func TestMeshOfOurOwnPoints(t *testing.T) {
	s, k, _ := newSet(t, scene+"lsl: {mesh: true}\n")
	f := face(1, "mother")
	f.Points = f.Points[:topology.ICT.Count]
	first := frame("a", 5, f)
	first.Topology = topology.ICT.Name
	must(t, s.Tracks(first))
	m := k.streams["mother mesh"]
	if m == nil || m.info.ChannelCount != 3*293+2 || m.value(t, 0, "point292Y") != 584 {
		t.Fatalf("mesh %+v", m)
	}
	data, err := m.info.XML()
	must(t, err)
	if !strings.Contains(string(data), "<topology>facetrack-ict-293</topology>") {
		t.Errorf("the description does not name the set:\n%s", data)
	}
	position := k.streams["mother head"].value(t, 0, "headZ")
	if want := 0.63 * 60 / topology.ICT.InterocularMM; math.Abs(float64(position)-want) > 1e-5 {
		t.Errorf("the head is %v m away, want %v", position, want)
	}
}

func TestUnknownSetOfPoints(t *testing.T) {
	s, k, _ := newSet(t, scene)
	first := frame("a", 5, face(1, "mother"))
	first.Topology = "of-the-future"
	if err := s.Tracks(first); err == nil || !strings.Contains(err.Error(), `"of-the-future"`) {
		t.Errorf("error %v", err)
	}
	if e := k.streams["mother expression"]; e == nil || e.value(t, 0, "Confidence") != 0.75 {
		t.Error("expressions need no points")
	}
	must(t, s.Tracks(frame("a", 6, face(1, "mother"))))
}

// Importers find camera, resolution and what was subtracted from the stamps.
func TestDescription(t *testing.T) {
	s, k, _ := newSet(t, scene+"landmarks: {model: face-landmarker}\n")
	must(t, s.Tracks(frame("a", 1)))
	must(t, s.Tracks(frame("b", 1)))
	xml := func(name string) string {
		data, err := k.streams[name].info.XML()
		must(t, err)
		return strings.Join(strings.Fields(string(data)), "")
	}
	for _, want := range []string{
		"<model>face-landmarker</model>", "<participant>mother</participant>", "<camera>a</camera>", "<compensated_lag>0.02</compensated_lag>",
		"<resolution><width>640</width><height>480</height></resolution>", "<can_drop_samples>true</can_drop_samples>",
		"<hfov_degrees>60</hfov_degrees>", "<assumed_interocular_distance_mm>60</assumed_interocular_distance_mm>",
		"<channel><label>headX</label><type>PositionX</type><unit>meters</unit><object>head</object></channel>",
	} {
		if got := xml("mother head"); !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if got := xml("b face 1 head"); !strings.Contains(got, "<hfov_degrees>unknown</hfov_degrees>") || !strings.Contains(got, "<compensated_lag>0</compensated_lag>") {
		t.Errorf("camera b: %s", got)
	}
	if got := xml("mother child synchrony"); !strings.Contains(got, "<a>mother</a><b>child</b>") || !strings.Contains(got, "<window_s>5</window_s>") {
		t.Errorf("synchrony: %s", got)
	}
}

func TestSlots(t *testing.T) {
	s, k, log := newSet(t, "cameras: [{name: b, source: y}]\nlsl: {slots: 2, max_slots: 3}\n")
	must(t, s.Tracks(frame("b", 1)))
	if k.streams["b face 2 expression"] == nil || k.streams["b face 3 expression"] != nil {
		t.Fatalf("streams before anybody is seen: %q", k.order)
	}
	must(t, s.Tracks(frame("b", 2, face(5, ""))))
	for range 3 {
		if err := s.Tracks(frame("b", 3, face(6, ""), face(1, ""))); !errors.Is(err, ErrTooMany) {
			t.Errorf("a fourth: %v", err)
		}
	}
	if n := strings.Count(log.String(), "lsl.max_slots"); n != 1 {
		t.Errorf("the limit is logged %d times, want once", n)
	}
	one := k.streams["b face 1 expression"]
	if len(one.rows) != 5 || one.value(t, 4, "Confidence") != 0.75 || one.value(t, 1, "Confidence") != 0 {
		t.Errorf("rows of the others: %v", one.rows)
	}
	if five := k.streams["b face 5 expression"]; len(five.rows) != 4 || five.info.SourceID != sourceID(t, "b:face:5:expression") {
		t.Errorf("face 5: %d rows, %+v", len(five.rows), five.info)
	}
}

// event is a marker as a reader decodes it.
type event struct {
	at float64
	marker
}

func events(t *testing.T, k *kept) (all []event) {
	t.Helper()
	s := k.streams["events"]
	if s.info.Type != "Markers" || s.info.Format != lsl.String || s.info.ChannelCount != 1 {
		t.Errorf("%+v", s.info)
	}
	for i, text := range s.texts {
		e := event{at: s.stamps[i]}
		if err := json.Unmarshal([]byte(text), &e.marker); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func (e event) String() string {
	out := fmt.Sprintf("%.2f %s %s%s", e.at, e.Event, e.Camera, e.Participant)
	if e.Frame != nil {
		out += fmt.Sprintf(" #%d", *e.Frame)
	}
	return strings.TrimSpace(out + " " + e.Reason)
}

func expectEvents(t *testing.T, k *kept, want ...string) {
	t.Helper()
	var got []string
	for _, e := range events(t, k) {
		got = append(got, e.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Somebody is lost after a second, as of the first frame without them; a blink of the detector is no event.
func TestEventsOfParticipants(t *testing.T) {
	s, k, _ := newSet(t, scene)
	mother := face(1, "mother")
	for seq := range uint64(40) {
		var faces []ipc.TrackedFace
		if seq >= 3 && seq != 7 && seq < 15 || seq >= 35 {
			faces = append(faces, mother)
		}
		must(t, s.Tracks(frame("a", seq, faces...)))
	}
	expectEvents(t, k, "100.28 participant_appears amother #3", "101.48 participant_lost amother #15", "103.48 participant_appears amother #35")
}

func TestEventsOfCameras(t *testing.T) {
	s, k, _ := newSet(t, scene)
	at := func(seconds float64) int64 { return int64(seconds * 1e9) }
	must(t, s.End(&ipc.End{Camera: "a", Reason: ipc.EndOfSource})) // gave nothing yet
	must(t, s.Silent(at(200)))
	must(t, s.Tracks(frame("a", 1, face(1, "mother"))))
	must(t, s.Tracks(frame("b", 1)))
	must(t, s.Silent(at(102.0)))
	must(t, s.Tracks(frame("b", 10)))
	must(t, s.Silent(at(102.2))) // a has given nothing for 2 s
	must(t, s.Silent(at(102.3)))
	must(t, s.Tracks(frame("a", 30, face(1, "mother"))))
	must(t, s.End(&ipc.End{Camera: "b", Reason: ipc.EndStopped}))
	must(t, s.Silent(at(104)))
	expectEvents(t, k,
		"100.08 participant_appears amother #1", "100.08 camera_lost a #1 silent", "100.08 participant_lost amother #1 camera_lost",
		"102.98 camera_back a #30", "102.98 participant_appears amother #30", "101.00 camera_lost b #10 stopped")
}

// A camera that gives a frame every four seconds is not lost between two.
func TestSlowCamera(t *testing.T) {
	s, k, _ := newSet(t, scene)
	for _, seq := range []uint64{10, 50, 90} {
		must(t, s.Tracks(frame("b", seq)))
		must(t, s.Silent(100e9+int64(seq)*1e8+1e9))
	}
	must(t, s.Silent(120.9e9))
	if got := events(t, k); len(got) != 0 {
		t.Errorf("events %v", got)
	}
	must(t, s.Silent(121.1e9))
	expectEvents(t, k, "109.00 camera_lost b #90 silent")
}

// Capture says that a camera has ended while its last frames are on their way.
func TestEndBeforeTheLastFrame(t *testing.T) {
	s, k, _ := newSet(t, scene)
	must(t, s.End(&ipc.End{Camera: "b", LastSeq: 1, Reason: "before any"}))
	must(t, s.Tracks(frame("b", 0)))
	must(t, s.Tracks(frame("b", 1)))
	must(t, s.Tracks(frame("a", 1, face(1, "mother"))))
	must(t, s.End(&ipc.End{Camera: "a", LastSeq: 3, Reason: ipc.EndOfSource}))
	must(t, s.Tracks(frame("a", 2, face(1, "mother"))))
	must(t, s.Tracks(frame("a", 3, face(1, "mother"))))
	must(t, s.Silent(110e9))
	want := []string{
		"100.10 camera_lost b #1 before any", "100.08 participant_appears amother #1", "100.28 camera_lost a #3 end of source",
		"100.28 participant_lost amother #3 camera_lost",
	}
	expectEvents(t, k, want...)
	must(t, s.Tracks(frame("a", 4))) // capture was started again
	must(t, s.End(&ipc.End{Camera: "a", LastSeq: 9, Reason: ipc.EndStopped}))
	must(t, s.Tracks(frame("a", 5)))
	must(t, s.Silent(102.4e9)) // the last was dropped
	must(t, s.Silent(102.6e9))
	want = append(want, "100.38 camera_back a #4", "100.48 camera_lost a #5 stopped")
	expectEvents(t, k, want...)
	must(t, s.Tracks(frame("a", 10)))
	must(t, s.End(&ipc.End{Camera: "a", LastSeq: 12, Reason: ipc.EndStopped}))
	must(t, s.Close()) // before it came
	expectEvents(t, k, append(want, "100.98 camera_back a #10", "100.98 camera_lost a #10 stopped")...)
}

func TestResolutionChanges(t *testing.T) {
	s, k, _ := newSet(t, scene)
	must(t, s.Tracks(frame("b", 1)))
	wide := frame("b", 2)
	wide.Width = 1280
	must(t, s.Tracks(wide))
	must(t, s.Tracks(wide))
	if all := events(t, k); len(all) != 1 || all[0].Event != "resolution" || all[0].Width != 1280 || all[0].Height != 480 || *all[0].Frame != 2 {
		t.Errorf("%+v", all)
	}
}

// Recordings that are read as fast as possible keep their own time, all from one beginning on.
func TestRecordingsKeepTheirTime(t *testing.T) {
	s, k, _ := newSet(t, strings.NewReplacer("source: x", "source: x, pace: max", "source: y", "source: y, pace: max").Replace(scene))
	at := func(camera string, seq uint64, came, media float64) *ipc.Tracks {
		m := frame(camera, seq)
		m.CaptureNS, m.MediaNS = int64(came*1e9), int64(media*1e9)
		return m
	}
	must(t, s.Tracks(at("a", 0, 50, 0.5)))
	must(t, s.Tracks(at("b", 0, 50.1, 0.5)))
	must(t, s.Tracks(at("a", 1, 50.01, 1.5)))
	must(t, s.Tracks(at("b", 1, 50.2, 3)))
	for name, want := range map[string][]float64{"mother head": {49.98, 50.98}, "b face 1 head": {50, 52.5}} {
		for i, stamp := range k.streams[name].stamps {
			if math.Abs(stamp-want[i]) > 1e-9 {
				t.Errorf("%s: row %d is stamped %v, want %v", name, i, stamp, want[i])
			}
		}
	}
	m := &ipc.Synchrony{A: "mother", B: "child", ToNS: 2.5e9, CaptureNS: 50.3e9, Series: []ipc.SynchronySeries{
		{Channel: "jawOpen"}, {Channel: "mouthSmileLeft"}, {Channel: ipc.SynchronyMean},
	}}
	must(t, s.Synchrony(m))
	if got := k.streams["mother child synchrony"].stamps[0]; got != 52 {
		t.Errorf("the window that ends at 2.5 s of the recording is stamped %v, want 52", got)
	}
	must(t, s.Silent(51.9e9))
	if got := events(t, k); len(got) != 0 {
		t.Errorf("events %v", got)
	}
}

// A stream of other channels is another stream to readers that recover.
func TestSynchronyOfOtherChannels(t *testing.T) {
	_, k, _ := newSet(t, scene)
	_, other, _ := newSet(t, strings.Replace(scene, "jawOpen", "jawLeft", 1))
	_, same, _ := newSet(t, scene)
	const name = "mother child synchrony"
	if id := k.streams[name].info.SourceID; id == other.streams[name].info.SourceID || id != same.streams[name].info.SourceID {
		t.Errorf("source ids %q, %q, %q", id, other.streams[name].info.SourceID, same.streams[name].info.SourceID)
	}
}

// An error beside one that is known is told.
func TestComplaints(t *testing.T) {
	s, _, log := newSet(t, scene)
	s.Complain("frame", errors.Join(fmt.Errorf("a: %w", ErrTooMany), lsl.ErrClosed))
	if log.Len() > 0 {
		t.Errorf("logged: %s", log)
	}
	s.Complain("frame", errors.Join(fmt.Errorf("a: %w", ErrTooMany), errors.Join(nil, errRefused)))
	if !strings.Contains(log.String(), errRefused.Error()) || strings.Contains(log.String(), ErrTooMany.Error()) {
		t.Errorf("logged: %s", log)
	}
}

func TestEventsOfTransports(t *testing.T) {
	s, k, _ := newSet(t, scene)
	for _, transport := range []string{"shm", ""} {
		must(t, s.Event(&ipc.Event{Camera: "a", Stage: "detect", Event: ipc.EventTransport, Value: transport, Reason: "because", TimeNS: 5e9}))
	}
	all := events(t, k)
	if len(all) != 2 || all[0].at != 5 || *all[0].Transport != "shm" || all[0].Stage != "detect" || all[0].Reason != "because" || *all[1].Transport != "" {
		t.Errorf("events %+v", all)
	}
}

func TestSynchrony(t *testing.T) {
	s, k, _ := newSet(t, scene)
	lagged := func(v float64) ipc.SynchronyLagged {
		return ipc.SynchronyLagged{
			R: ipc.Number(v), Nearest: ipc.SynchronyPeak{R: ipc.Number(v + 1), LagS: ipc.Number(v + 2)},
			Highest: ipc.SynchronyPeak{R: ipc.Number(v + 3), LagS: ipc.Number(math.NaN())},
		}
	}
	m := &ipc.Synchrony{A: "mother", B: "child", CaptureNS: 120e9}
	for i, name := range []string{"jawOpen", "mouthSmileLeft", ipc.SynchronyMean} {
		v := float64(100 * i)
		m.Series = append(m.Series, ipc.SynchronySeries{Channel: name, Value: lagged(v), Transient: lagged(v + 10), Sustained: ipc.SynchronyAtLevel{R: ipc.Number(v + 20)}})
	}
	must(t, s.Synchrony(m))
	p := k.streams["mother child synchrony"]
	if p.info.Type != "Synchrony" || p.info.ChannelCount != 33 || p.stamps[0] != 120 {
		t.Errorf("%+v at %v", p.info, p.stamps)
	}
	for label, want := range map[string]float32{
		"jawOpenR": 0, "jawOpenNearestR": 1, "jawOpenNearestLag": 2, "jawOpenHighestR": 3, "jawOpenTransientR": 10, "jawOpenTransientNearestLag": 12,
		"jawOpenSustainedR": 20, "mouthSmileLeftR": 100, "meanR": 200, "meanTransientHighestR": 213, "meanSustainedR": 220,
	} {
		if got := p.value(t, 0, label); got != want {
			t.Errorf("%s is %v, want %v", label, got, want)
		}
	}
	if !isNaN(p.value(t, 0, "meanHighestLag")) {
		t.Error("a lag that is not known has a value")
	}
	for _, change := range []func(*ipc.Synchrony){
		func(m *ipc.Synchrony) { m.A, m.B = m.B, m.A },
		func(m *ipc.Synchrony) { m.Series = m.Series[1:] },
		func(m *ipc.Synchrony) { m.Series = []ipc.SynchronySeries{m.Series[1], m.Series[0], m.Series[2]} },
	} {
		other := *m
		change(&other)
		if err := s.Synchrony(&other); !errors.Is(err, ErrNoPair) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if len(p.rows) != 1 {
		t.Errorf("%d rows", len(p.rows))
	}
}

func TestStreamsThatCannotBeOpened(t *testing.T) {
	cfg, err := config.Parse("f.yaml", []byte(scene))
	must(t, err)
	for _, name := range []string{"events", "mother child synchrony"} {
		k := &kept{t: t, streams: map[string]*keptStream{}, refuse: name}
		if _, err := New(cfg, k, slog.New(slog.DiscardHandler)); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		for other, s := range k.streams {
			if !s.closed {
				t.Errorf("%s is left open", other)
			}
		}
	}
	s, k, _ := newSet(t, scene)
	k.refuse = "child head"
	if err := s.Tracks(frame("a", 1)); !errors.Is(err, errRefused) {
		t.Errorf("%v", err)
	}
	must(t, s.Tracks(frame("a", 2))) // it is not tried again, and the others have both rows
	if n := len(k.streams["mother head"].rows); n != 2 {
		t.Errorf("%d rows", n)
	}
}
