//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/vision"
	"facetrack/xdf/xdftest"
)

// twoSeats is a mother, known by her number, and a child, known by the seat, each before a camera of their own.
const twoSeats = `
cameras:
  - {name: left, source: "synthetic:faces=1,fps=30,seed=1", latency_ms: 20}
  - {name: right, source: "synthetic:faces=1,fps=30,seed=2", hfov_degrees: 60}
participants:
  - {name: mother, camera: left}
  - {name: child, camera: right, area: [0, 0, 1, 1], interocular_mm: 54}
synchrony: {channels: [jawOpen, mouthSmileLeft], window_s: 1, max_lag_s: 0.5, baseline_s: 1, sustained_s: 2}
tracker: {memory_s: 60} # the mother keeps her number while capture is away
`

var cameraOf = map[string]string{"mother": "left", "child": "right"}

// lastFrames tells when the newest frame of each camera was taken.
func (r *rig) lastFrames() (newest func() int64) {
	r.t.Helper()
	r.eventually("the server answers", func() bool { return r.bus() != nil })
	frames := make(chan int64, 1<<16)
	_, err := r.bus().Subscribe(ipc.AllCameras(r.name, ipc.KindTracks), func(m *nats.Msg) {
		if f, err := ipc.PeekFrame(m.Data); err == nil {
			frames <- f.CaptureNS
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	last := clock.Now()
	return func() int64 {
		for {
			select {
			case at := <-frames:
				last = max(last, at)
			default:
				return last
			}
		}
	}
}

// A session of two people before two cameras, with a capture process that stands still for a while and is killed later: the XDF file
// has what the tracks say, and what happened.
func TestXDFRecording(t *testing.T) {
	r := prepare(t)
	r.up("--config", r.config(twoSeats), "--record", r.path("a.jsonl"), "--xdf", r.path("a.xdf"))
	newest := r.lastFrames()
	r.eventually("two windows are over", func() bool {
		tracker := r.status()[stage.Tracker]
		return tracker.Cameras["left"].Frames > 150 && tracker.Cameras["right"].Frames > 150
	})
	capture := r.status()[stage.Capture].PID
	r.signal(capture, syscall.SIGSTOP)
	r.eventually("the cameras are silent", func() bool { return clock.Now()-newest() > 2.5e9 })
	r.signal(capture, syscall.SIGCONT)
	r.eventually("they go on", func() bool { return clock.Now()-newest() < 1e9 })
	t.Logf("capture back %v after kill -9", r.kill(stage.Capture, capture, r.listen()))
	frames := r.status()[stage.Tracker].Cameras["left"].Frames
	r.eventually("the participants are seen again", func() bool { return r.status()[stage.Tracker].Cameras["left"].Frames > frames+30 })
	r.interrupt()
	s := r.mustEnd()
	data, err := os.ReadFile(r.path("a.xdf"))
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]*xdftest.Stream{}
	total := uint64(0)
	for _, stream := range xdftest.MustParse(t, data).Streams {
		recorded[strings.TrimPrefix(stream.Header.Name, "facetrack "+r.name+" ")] = stream
		total += uint64(len(stream.Samples))
		checkBook(t, stream)
	}
	want := []string{
		"child expression", "child gaze", "child head", "events", "mother child synchrony", "mother expression", "mother gaze", "mother head",
	}
	if got := slices.Sorted(maps.Keys(recorded)); !slices.Equal(got, want) {
		t.Fatalf("streams %q, want %q", got, want)
	}
	if s.XDF == nil || s.XDF.Samples != total || s.XDF.File != r.path("a.xdf") {
		t.Errorf("summary %+v, %d samples in the file", s.XDF, total)
	}
	all := tracks(t, r.path("a.jsonl"))
	for who := range cameraOf {
		for _, kind := range []string{"expression", "head", "gaze"} {
			checkRows(t, recorded[who+" "+kind], who, all)
		}
	}
	checkSynchrony(t, recorded["mother child synchrony"])
	checkEvents(t, recorded, all)
	t.Run("libxdf", func(t *testing.T) { compareWithLibxdf(t, r.path("a.xdf"), recorded) })
}

// checkBook looks at what every stream has: a footer, clock offsets of 0, some five seconds apart, and no rate.
func checkBook(t *testing.T, s *xdftest.Stream) {
	t.Helper()
	if s.Footer == nil || len(s.Samples) == 0 || len(s.Offsets) == 0 || s.Header.Rate != 0 || len(s.Header.Labels) != s.Header.Count {
		t.Fatalf("%s: %d rows, offsets %v, %d labels, footer %+v", s.Header.Name, len(s.Samples), s.Offsets, len(s.Header.Labels), s.Footer)
	}
	for i, o := range s.Offsets {
		if o.Offset != 0 || i > 0 && o.At-s.Offsets[i-1].At < 5 {
			t.Errorf("%s: offsets %v", s.Header.Name, s.Offsets)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkRows: one row a tracked frame, when its picture was taken, with the participant's values or none.
func checkRows(t *testing.T, s *xdftest.Stream, who string, all []ipc.Tracks) {
	t.Helper()
	if strings.HasSuffix(s.Header.Name, "expression") && !slices.Equal(s.Header.Labels, append(vision.BlendshapeNames[:], "Confidence", "FrameNumber")) {
		t.Errorf("%s: labels %q", s.Header.Name, s.Header.Labels)
	}
	rows, seen := s.Samples, 0
	for _, m := range all {
		if m.Camera != cameraOf[who] {
			continue
		}
		if len(rows) == 0 {
			t.Fatalf("%s: no row of frame %d", s.Header.Name, m.Seq)
		}
		values, taken := strings.Fields(rows[0].Values), m.CaptureNS
		if m.Camera == "left" {
			taken -= 20e6
		}
		if n := len(values); n != s.Header.Count || values[n-1] != fmt.Sprint(float32(m.Seq)) || rows[0].Stamp != lsl.Seconds(taken) {
			t.Fatalf("%s: row %v at %v, want frame %d at %v", s.Header.Name, values, rows[0].Stamp, m.Seq, lsl.Seconds(taken))
		}
		first, confidence := number(t, values[7]), number(t, values[len(values)-2])
		i := slices.IndexFunc(m.Faces, func(f ipc.TrackedFace) bool { return f.Participant == who })
		switch {
		case i < 0 && (confidence != 0 || !math.IsNaN(first)):
			t.Errorf("%s: nobody is in frame %d, and the row is %v", s.Header.Name, m.Seq, values)
		case i >= 0:
			seen++
			checkFace(t, s.Header.Name, values, &m.Faces[i])
		}
		rows = rows[1:]
	}
	if len(rows) > 0 || seen < 150 {
		t.Errorf("%s: %d rows too many; %s is in %d", s.Header.Name, len(rows), who, seen)
	}
}

func checkFace(t *testing.T, stream string, values []string, f *ipc.TrackedFace) {
	t.Helper()
	expect := func(i int, want float64) {
		t.Helper()
		if got := number(t, values[i]); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: channel %d is %v, the tracks say %v", stream, i, got, want)
		}
	}
	expect(len(values)-2, f.Score)
	switch {
	case strings.HasSuffix(stream, "expression"):
		expect(7, f.Blendshapes[7])
	case strings.HasSuffix(stream, "child head") && f.Pose != nil:
		expect(2, f.Pose.Z/100*54/63)
		expect(8, f.Pose.Yaw)
	case strings.HasSuffix(stream, "mother head") && f.Pose != nil:
		expect(8, f.Pose.Yaw)
		if values[2] != "NaN" {
			t.Errorf("%s: the field of view is not known, and the head is at %s m", stream, values[2])
		}
	}
}

func checkSynchrony(t *testing.T, s *xdftest.Stream) {
	t.Helper()
	if s.Header.Labels[0] != "jawOpenR" || s.Header.Count != 33 || len(s.Samples) < 4 {
		t.Fatalf("%d channels %q, %d rows", s.Header.Count, s.Header.Labels, len(s.Samples))
	}
	for i, row := range s.Samples[1:] {
		if step := row.Stamp - s.Samples[i].Stamp; step < 0.4 { // 0.5 s of the film; frames come with some jitter
			t.Errorf("row %d comes %v s after the one before", i+1, step)
		}
	}
}

// happened is an event of the recording.
type happened struct {
	At                                                   float64
	Event, Participant, Camera, Stage, Transport, Reason string
	Frame                                                *uint64
}

func checkEvents(t *testing.T, recorded map[string]*xdftest.Stream, all []ipc.Tracks) {
	t.Helper()
	byCamera, appeared, transports := map[string][]happened{}, map[string]int{}, map[string]bool{}
	for _, row := range recorded["events"].Samples {
		text, err := strconv.Unquote(row.Values)
		e := happened{At: row.Stamp}
		if err == nil {
			err = json.Unmarshal([]byte(text), &e)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, row.Values)
		}
		switch e.Event {
		case "camera_lost", "camera_back":
			byCamera[e.Camera] = append(byCamera[e.Camera], e)
		case "participant_appears":
			appeared[e.Participant]++
			if e.Camera != cameraOf[e.Participant] || e.Frame == nil {
				t.Errorf("%s", text)
			}
		case "transport":
			transports[e.Camera+" "+e.Stage+" "+e.Transport] = true
		}
	}
	for who, camera := range cameraOf {
		if appeared[who] < 2 {
			t.Errorf("%s appears %d times, want at the beginning and after the silence", who, appeared[who])
		}
		for _, name := range []string{stage.Detect, stage.Landmarks} {
			if !transports[camera+" "+name+" "+processLink] {
				t.Errorf("%s does not say how it gets pixels of %s: %v", name, camera, transports)
			}
		}
		frames := slices.DeleteFunc(slices.Clone(all), func(m ipc.Tracks) bool { return m.Camera != camera })
		checkSilence(t, byCamera[camera], frames, recorded[who+" expression"].Samples)
	}
}

// checkSilence: a camera of which nothing is tracked for more than two seconds is lost with its last frame and back with the next, and it
// ends lost. rows are those of the frames.
func checkSilence(t *testing.T, events []happened, frames []ipc.Tracks, rows []xdftest.Sample) {
	t.Helper()
	is := func(e happened, name string, i int) {
		t.Helper()
		if e.Event != name || e.Frame == nil || *e.Frame != frames[i].Seq || e.At != rows[i].Stamp {
			t.Errorf("%+v, want %s with frame %d at %v", e, name, frames[i].Seq, rows[i].Stamp)
		}
	}
	silences := 0
	for i := 1; i < len(frames); i++ {
		quiet := float64(frames[i].Stamps.Tracks-frames[i-1].Stamps.Tracks) / 1e9
		lost := len(events) > 1 && events[0].At < rows[i].Stamp
		if lost != (quiet > 2) && (quiet < 1.5 || quiet > 2.4) { // four times a second the last frame's age is looked at
			t.Errorf("%s: nothing for %.2f s before frame %d, lost: %v", frames[i].Camera, quiet, frames[i].Seq, lost)
		}
		if !lost {
			continue
		}
		silences++
		is(events[0], "camera_lost", i-1)
		is(events[1], "camera_back", i)
		if events[0].Reason != "silent" {
			t.Errorf("%+v", events[0])
		}
		events = events[2:]
	}
	if len(events) != 1 || silences == 0 {
		t.Fatalf("%d silences, at the end %+v", silences, events)
	}
	is(events[0], "camera_lost", len(rows)-1)
}

// compareWithLibxdf: a library that knows nothing of us finds the same streams, labels, stamps and counts.
func compareWithLibxdf(t *testing.T, path string, recorded map[string]*xdftest.Stream) {
	type found struct {
		labels, stamps, offsets []string
		count                   string
	}
	all := map[string]*found{}
	var s *found
	for _, line := range xdftest.Libxdf(t, path) {
		switch f := strings.Fields(line); f[0] {
		case "stream":
			s = &found{}
			all[f[1]] = s
		case "label":
			s.labels = append(s.labels, f[1])
		case "sample":
			s.stamps = append(s.stamps, f[1])
		case "offset":
			s.offsets = append(s.offsets, f[1]+" "+f[2])
		case "footer":
			s.count = f[1]
		}
	}
	if len(all) != len(recorded) {
		t.Errorf("%d streams, want %d", len(all), len(recorded))
	}
	for _, want := range recorded {
		var w found
		for _, l := range want.Header.Labels {
			w.labels = append(w.labels, fmt.Sprintf("x%x", l))
		}
		for _, row := range want.Samples {
			w.stamps = append(w.stamps, fmt.Sprintf("%.17g", row.Stamp))
		}
		for _, o := range want.Offsets {
			w.offsets = append(w.offsets, fmt.Sprintf("%.17g %.17g", o.At, o.Offset))
		}
		w.count = strconv.Itoa(len(want.Samples))
		got := all[fmt.Sprintf("x%x", want.Header.Name)]
		if got == nil {
			t.Errorf("stream %q is not found", want.Header.Name)
			continue
		}
		if !slices.Equal(got.labels, w.labels) || !slices.Equal(got.stamps, w.stamps) || !slices.Equal(got.offsets, w.offsets) || got.count != w.count {
			t.Errorf("%s: %d labels, %d stamps, offsets %v, count %s; want %d, %d, %v, %s", want.Header.Name,
				len(got.labels), len(got.stamps), got.offsets, got.count, len(w.labels), len(w.stamps), w.offsets, w.count)
		}
	}
}

// The disk runs full while recording: the run goes on, what was recorded can be read, and it is told once.
func TestDiskFullWhileRecordingXDF(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	const limit = 8 << 20 // just holds the ring
	text, err := os.ReadFile(r.config(""))
	if err != nil {
		t.Fatal(err)
	}
	config := r.write("mesh.yaml", strings.Replace(string(text), "loopback_only: true", "enabled: false, mesh: true", 1))
	r.upIn(fmt.Sprintf(`exec prlimit --fsize=%d "$@"`, limit), "--config", config, "--source", "synthetic:faces=2,frames=800",
		"--pace", "max", "--xdf", r.path("a.xdf"))
	if code := r.wait(); code == 0 {
		t.Error("status 0")
	}
	if n := strings.Count(r.stderr.String(), "goes on without recording"); n != 1 {
		t.Errorf("told %d times that the run goes on", n)
	}
	data, err := os.ReadFile(r.path("a.xdf"))
	if err != nil {
		t.Fatal(err)
	}
	rows, most := uint64(0), 0
	for _, s := range xdftest.MustParse(t, data).Streams {
		rows, most = rows+uint64(len(s.Samples)), max(most, len(s.Samples))
		if s.Footer != nil {
			t.Errorf("%s has a footer", s.Header.Name)
		}
	}
	s := r.summary()
	if len(data) > limit || most == 0 || most >= 800 || s.XDF.Samples != rows || !strings.Contains(s.XDF.Error, "samples are safe") {
		t.Errorf("%d bytes, %d rows, %d of a stream, summary %+v", len(data), rows, most, s.XDF)
	}
	if s.Cameras["cam0"].Captured != 800 {
		t.Errorf("the run ended after %d frames", s.Cameras["cam0"].Captured)
	}
}
