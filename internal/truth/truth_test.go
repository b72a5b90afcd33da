package truth

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"facetrack/internal/demo"
	"facetrack/internal/source"
	"facetrack/ipc"
	"facetrack/track"
)

// face is a person whose outer corners of the eyes are 100 px apart.
func face(id int, x float64) Person {
	p := Person{
		ID: id, Box: []float64{x, 50, 120, 150}, Shown: 1, Five: make([][2]float64, 5), Points: make([][2]float64, Points), Hidden: []int{},
		Coefficients: make([]float64, 52), Pose: []float64{5, -20, 3}, Position: []float64{1, 2, 60}, Gaze: Gaze{Left: [2]float64{2, 8}, Right: [2]float64{2, 12}},
	}
	for i := range p.Points {
		p.Points[i] = [2]float64{x + float64(i), 60 + float64(i*7%90)}
	}
	p.Points[36], p.Points[45] = [2]float64{x + 10, 90}, [2]float64{x + 110, 90}
	p.Coefficients[0], p.Coefficients[25] = 0.5, 0.5
	return p
}

// pair of people over so many frames, who stand still.
func clip(frames int) *Clip {
	c := &Clip{Format: Format, Width: 640, Height: 480, FPS: 25, Focal: 554.3}
	for range frames {
		c.Frames = append(c.Frames, []Person{face(1, 100), face(2, 400)})
	}
	return c
}

// tracked is a person found without error.
func tracked(p Person, id int) ipc.TrackedFace {
	head := track.RotationFromAngles(p.Pose[0], p.Pose[1], p.Pose[2])
	look := ahead(head, ahead(rotation([]float64{2, 10, 0}), [3]float64{0, 0, -1}))
	f := ipc.TrackedFace{
		ID: id, Box: [4]float64(p.Box), Score: 1, Blendshapes: slices.Clone(p.Coefficients),
		Pose: &ipc.Pose{Pitch: p.Pose[0], Yaw: p.Pose[1], Roll: p.Pose[2], X: p.Position[0], Y: p.Position[1], Z: p.Position[2]},
		Gaze: &ipc.Gaze{Pitch: math.Asin(-look[1]) * 180 / math.Pi, Yaw: math.Atan2(look[0], -look[2]) * 180 / math.Pi},
	}
	for _, at := range p.Points {
		f.Points = append(f.Points, [3]float32{float32(at[0]), float32(at[1]), 0})
	}
	return f
}

// recording is what a perfect tracker writes of so many frames, each line changed by what is given.
func recording(t testing.TB, c *Clip, frames int, change func(i int, m *ipc.Tracks)) []byte {
	t.Helper()
	var out []byte
	for i := range frames {
		m := ipc.Tracks{Topology: "68", Frame: ipc.Frame{
			Camera: "cam0", Seq: uint64(i), CaptureNS: 1, WallNS: 1, Ring: "r/cam0/1", Width: c.Width, Height: c.Height, Format: "BGR",
			MediaNS: int64(float64(i+1) * 1e9 / c.FPS),
		}}
		for j, p := range c.Frames[i%len(c.Frames)] {
			m.Faces = append(m.Faces, tracked(p, j+1))
		}
		if change != nil {
			change(i, &m)
		}
		line, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

func each(topology string) (*[Points]int, bool) {
	indices := new([Points]int)
	for i := range indices {
		indices[i] = i
	}
	return indices, topology == "68"
}

func compare(t *testing.T, c *Clip, lines []byte) *Result {
	t.Helper()
	r, err := Compare(bytes.NewReader(lines), c, Options{MultiPIE: each})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func expect(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %g, want %g within %g", what, got, want, tolerance)
	}
}

func TestWhatIsRightHasNoErrors(t *testing.T) {
	c := clip(4)
	r := compare(t, c, recording(t, c, 10, nil)) // two and a half times round
	if r.Camera != "cam0" || r.Frames != 10 || r.Persons != 20 || r.Found != 20 || r.Recall() != 1 || r.False != 0 || r.Switches != 0 {
		t.Errorf("%+v", r)
	}
	for what, e := range map[string]*Errors{
		"points": r.Points, "points without the jaw": r.PointsInside, "pose": r.Pose, "position": r.Position, "gaze": r.Gaze, "coefficients": r.Coefficients,
	} {
		expect(t, what, e.Mean, 0, 0.01)
		expect(t, what+", p95", e.P95, 0, 0.01)
	}
	expect(t, "pitch, yaw and roll", r.Angles.Pitch+r.Angles.Yaw+r.Angles.Roll, 0, 0.01)
	expect(t, "a face at rest", r.AtRest.Mean, 0.5/51, 1e-6)
}

func TestKnownDisplacementsAreKnownErrors(t *testing.T) {
	c := clip(4)
	r := compare(t, c, recording(t, c, 8, func(_ int, m *ipc.Tracks) {
		for k := range m.Faces {
			f := &m.Faces[k]
			for i := range f.Points {
				f.Points[i][0], f.Points[i][1] = f.Points[i][0]+3, f.Points[i][1]-4
			}
			for i := range 17 { // of the jaw as much again, the other way
				f.Points[i][0], f.Points[i][1] = f.Points[i][0]-13, f.Points[i][1]+4
			}
			turned := track.RotationFromAngles(5, -20+7, 3)
			f.Pose.Pitch, f.Pose.Yaw, f.Pose.Roll = turned.Angles()
			f.Pose.Z += 2
			f.Blendshapes[25] += 0.255
			f.Blendshapes[0] = 0 // does not count
			f.Gaze.Pitch += 6
		}
	}))
	expect(t, "points without the jaw", r.PointsInside.Mean, 0.05, 1e-4)
	expect(t, "points", r.Points.Mean, (51*0.05+17*0.10)/68, 1e-4)
	expect(t, "pose", r.Pose.Mean, 7, 0.01)
	expect(t, "yaw", r.Angles.Yaw, 7, 0.01)
	expect(t, "pitch", r.Angles.Pitch, 0, 0.01)
	expect(t, "position", r.Position.Mean, 2, 0.01)
	expect(t, "coefficients", r.Coefficients.Mean, 0.255/51, 1e-4)
	expect(t, "gaze", r.Gaze.Mean, 6, 0.01)
}

func TestTheWorstOfTwenty(t *testing.T) {
	c := clip(1)
	c.Frames[0] = c.Frames[0][:1]
	r := compare(t, c, recording(t, c, 20, func(i int, m *ipc.Tracks) { m.Faces[0].Pose.Z += float64(i) }))
	expect(t, "mean", r.Position.Mean, 9.5, 0.01)
	expect(t, "p95", r.Position.P95, 18, 0.01)
}

func TestHiddenPointsDoNotCount(t *testing.T) {
	c := clip(2)
	for _, people := range c.Frames {
		people[0].Hidden, people[1].Hidden = []int{20}, []int{20}
	}
	r := compare(t, c, recording(t, c, 4, func(_ int, m *ipc.Tracks) {
		for k := range m.Faces {
			m.Faces[k].Points[20][0] += 50
		}
	}))
	expect(t, "points", r.Points.Mean, 0, 1e-6)
}

func TestWhoIsMissedFalseOrSomebodyElse(t *testing.T) {
	c := clip(10)
	r := compare(t, c, recording(t, c, 10, func(i int, m *ipc.Tracks) {
		switch {
		case i < 2: // nobody yet
			m.Faces = nil
		case i == 4: // one face where nobody is, another missed
			m.Faces[0].Box[1] = 300
		case i >= 7: // a new number
			m.Faces[1].ID = 9
		}
	}))
	if r.Persons != 20 || r.Found != 15 || r.False != 1 || r.Switches != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTheNearerFaceIsThePersons(t *testing.T) {
	c := clip(1)
	c.Frames[0] = c.Frames[0][:1]
	r := compare(t, c, recording(t, c, 1, func(_ int, m *ipc.Tracks) {
		other := tracked(face(1, 100), 2)
		other.Box[0] += 25
		other.Pose.Z += 30
		m.Faces = append([]ipc.TrackedFace{other}, m.Faces...)
	}))
	if r.Found != 1 || r.False != 1 || r.Position.Mean > 0.01 {
		t.Errorf("%+v, position %+v", r, r.Position)
	}
}

func TestPeopleWhoAreHardlyShownDoNotCount(t *testing.T) {
	c := clip(3)
	for _, people := range c.Frames {
		people[1].Shown = 0.3
	}
	r := compare(t, c, recording(t, c, 3, func(i int, m *ipc.Tracks) {
		if i == 1 {
			m.Faces = m.Faces[:1]
		}
	}))
	if r.Persons != 3 || r.Found != 3 || r.False != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhatWasNotMeasuredIsAbsent(t *testing.T) {
	c := clip(2)
	lines := recording(t, c, 2, func(_ int, m *ipc.Tracks) {
		m.Topology = "unknown"
		for k := range m.Faces {
			m.Faces[k].Pose, m.Faces[k].Gaze, m.Faces[k].Blendshapes = nil, nil, nil
		}
	})
	if r := compare(t, c, lines); r.Found != 4 || r.Points != nil || r.Pose != nil || r.Angles != nil || r.Gaze != nil || r.Coefficients != nil {
		t.Errorf("%+v", r)
	}
}

func TestRecordingsThatDoNotFit(t *testing.T) {
	c := clip(2)
	for want, change := range map[string]func(int, *ipc.Tracks){
		"frames of 320×480":                func(_ int, m *ipc.Tracks) { m.Width = 320 },
		"live camera":                      func(_ int, m *ipc.Tracks) { m.MediaNS = 0 },
		"less than one of its frames":      func(_ int, m *ipc.Tracks) { m.MediaNS = 1 },
		"the cameras cam0, left: name one": func(i int, m *ipc.Tracks) { m.Camera = []string{"cam0", "left"}[i] },
		"of the recording: ipc":            nil,
		"it has no frames":                 nil,
		"it has no camera right, but cam0": nil,
	} {
		lines, camera := recording(t, c, 2, change), ""
		switch want {
		case "of the recording: ipc":
			lines = lines[:len(lines)-9]
		case "it has no frames":
			lines = nil
		case "it has no camera right, but cam0":
			camera = "right"
		}
		_, err := Compare(bytes.NewReader(lines), c, Options{Camera: camera})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	two := recording(t, c, 2, func(i int, m *ipc.Tracks) { m.Camera = []string{"cam0", "left"}[i] })
	if r, err := Compare(bytes.NewReader(two), c, Options{Camera: "left"}); err != nil || r.Frames != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func encoded(t testing.TB, c *Clip) []byte {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadPlainAndGzipped(t *testing.T) {
	data := encoded(t, clip(2))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{data, zipped.Bytes()} {
		c, err := Read(bytes.NewReader(file))
		if err != nil || !bytes.Equal(encoded(t, c), data) {
			t.Errorf("%v, %+v", err, c)
		}
	}
	if _, err := Read(bytes.NewReader(zipped.Bytes()[:zipped.Len()-20])); !errors.Is(err, ErrFormat) {
		t.Errorf("a cut file: %v", err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for want, change := range map[string]func(*Clip){
		"format is":                  func(c *Clip) { c.Format = "other" },
		"must all be positive":       func(c *Clip) { c.FPS = 0 },
		"no frames":                  func(c *Clip) { c.Frames = nil },
		"points has 67":              func(c *Clip) { c.Frames[1][0].Points = c.Frames[1][0].Points[1:] },
		"frame 0, person 1: coeffic": func(c *Clip) { c.Frames[0][1].Coefficients = nil },
		"hidden names point 68":      func(c *Clip) { c.Frames[0][0].Hidden = []int{68} },
		"distance of the eyes":       func(c *Clip) { c.Frames[0][0].Points[36] = c.Frames[0][0].Points[45] },
		"position has 2":             func(c *Clip) { c.Frames[0][0].Position = []float64{1, 2} },
	} {
		c := clip(2)
		change(c)
		if _, err := Read(bytes.NewReader(encoded(t, c))); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, text := range []string{"", "{}", `{"format":1}`, `{"surprise":1}`, "\x1f\x8bnothing"} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The clip that is part of the program and its truth are of one piece, and people are where the truth's own numbers say.
func TestDemo(t *testing.T) {
	c, err := Read(bytes.NewReader(demo.Truth))
	if err != nil {
		t.Fatal(err)
	}
	film, err := source.Open(t.Context(), source.Demo, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = film.Close() }()
	info := film.Info()
	if info.Width != c.Width || info.Height != c.Height || info.Frames != len(c.Frames) || math.Abs(info.FPS-c.FPS) > 0.01 {
		t.Errorf("the clip has %+v, its truth %d×%d, %g frames/s, %d frames", info, c.Width, c.Height, c.FPS, len(c.Frames))
	}
	expect(t, "field of view", c.HFOVDegrees(), 60, 0.01) // what is assumed of a camera that nobody describes
	for i, people := range c.Frames {
		if len(people) != 2 || people[0].ID == people[1].ID {
			t.Fatalf("frame %d: %d people", i, len(people))
		}
		for _, p := range people {
			x := p.Position[0]/p.Position[2]*c.Focal + float64(c.Width)/2
			y := p.Position[1]/p.Position[2]*c.Focal + float64(c.Height)/2
			if x < p.Box[0] || x > p.Box[0]+p.Box[2] || y < p.Box[1] || y > p.Box[1]+p.Box[3] {
				t.Errorf("frame %d, person %d: the head's middle is at %.0f, %.0f, the face within %.0f", i, p.ID, x, y, p.Box)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, clip(1)))
	f.Add(demo.Truth[:64])
	f.Add([]byte(`{"format":"facetrack-truth-1","frames":[[{"box":[1]}]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v has no sentinel", err)
			}
			return
		}
		lines := recording(t, clip(1), 1, nil)
		if r, err := Compare(bytes.NewReader(lines), c, Options{MultiPIE: each}); err == nil && r.Frames != 1 {
			t.Fatalf("%+v", r)
		}
	})
}
