package ipc_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"facetrack/ipc"
)

func testEvent() *ipc.Event {
	return &ipc.Event{
		Camera: "cam-1", Stage: "landmarks", Event: ipc.EventTransport, Value: "shm", Reason: "cuda-ipc: \"kein\" Gerät\n", TimeNS: math.MaxInt64,
	}
}

func TestEventRoundTrip(t *testing.T) {
	roundTrip(t, testEvent(), ipc.DecodeEvent)
	away := &ipc.Event{Camera: "c", Stage: "detect", Event: ipc.EventTransport, TimeNS: -1}
	roundTrip(t, away, ipc.DecodeEvent)
	text, err := away.AppendJSON(nil)
	if want := `{"camera":"c","stage":"detect","event":"transport","value":"","reason":"","t_ns":-1}`; err != nil || string(text) != want {
		t.Errorf("%v\n got %s\nwant %s", err, text, want)
	}
	if e, err := ipc.DecodeEvent([]byte(`{"t_ns":7,"new":[1],"event":"x","stage":"detect","camera":"c"}`)); err != nil || e.TimeNS != 7 || e.Value != "" {
		t.Errorf("another order: %v, %+v", err, e)
	}
}

// A reason is for people: a long one is cut, between two characters, rather than the event lost.
func TestLongReasonIsCut(t *testing.T) {
	e := testEvent()
	e.Reason = "x" + strings.Repeat("ü", 1000)
	data, err := e.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ipc.DecodeEvent(data); err != nil || got.Reason != "x"+strings.Repeat("ü", 511) {
		t.Errorf("%v: %d bytes, %q", err, len(got.Reason), got.Reason)
	}
}

func TestEventThatCannotBeSent(t *testing.T) {
	for want, change := range map[string]func(*ipc.Event){
		`camera "a.b": not a name`:    func(e *ipc.Event) { e.Camera = "a.b" },
		`stage "": not a name`:        func(e *ipc.Event) { e.Stage = "" },
		"event: invalid value: 1 to ": func(e *ipc.Event) { e.Event = "" },
		"invalid value":               func(e *ipc.Event) { e.Event = strings.Repeat("x", 129) },
		"a value of no more":          func(e *ipc.Event) { e.Value = strings.Repeat("x", 129) },
	} {
		e := testEvent()
		change(e)
		if data, err := e.AppendJSON(nil); err == nil || data != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// withoutPoints is what DecodeTracksWithoutPoints gives of a message.
func withoutPoints(m ipc.Tracks) ipc.Tracks {
	m.Faces = append([]ipc.TrackedFace{}, m.Faces...)
	for i := range m.Faces {
		m.Faces[i].Points, m.Faces[i].Raw, m.Faces[i].Confidence = nil, nil, nil
	}
	if len(m.Faces) == 0 {
		m.Faces = nil
	}
	return m
}

func TestTracksOfParticipants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	m := testTracks(r, 3)
	m.Faces[1].Participant, m.Faces[2].Participant = "child", strings.Repeat("m", 32)
	roundTrip(t, m, ipc.DecodeTracks)
	data, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `"participant"`); n != 2 {
		t.Errorf("%d participants are written, want 2", n)
	}
	got, err := ipc.DecodeTracksWithoutPoints(data)
	if err != nil || !reflect.DeepEqual(got, withoutPoints(*m)) {
		t.Errorf("without points: %v, %+v", err, got)
	}
}

// Points and raw values are passed over unread; all else is checked as ever.
func TestDecodeTracksWithoutPointsChecksTheRest(t *testing.T) {
	message := func(face string) []byte { return []byte("{" + identity + `,"topology":"t","faces":[` + face + `]}`) }
	const whole = `"id":3,"box":[1,2,3,4],"pose":null`
	for face, want := range map[string]string{
		`{` + whole + `,"points":[[1,2,"]"],{"x":[]}],"raw":{"points":[nothing]}}`: "",
		`{` + whole + `,"points":[[1,2,3]}`:                                        "malformed JSON",
		`{` + whole + `,"points":[],"points":[]}`:                                  "faces[0].points: field given twice",
		`{` + whole + `,"points":[],"blendshapes":["x"]}`:                          "faces[0].blendshapes",
		`{` + whole + `,"participant":"a.b"}`:                                      "not a name",
		`{"id":3,"points":[],"pose":null}`:                                         "faces[0].box: field missing",
	} {
		m, err := ipc.DecodeTracksWithoutPoints(message(face))
		if want == "" && (err != nil || len(m.Faces) != 1 || m.Faces[0].ID != 3 || m.Faces[0].Points != nil || m.Faces[0].Raw != nil) {
			t.Errorf("%s: %v, %+v", face, err, m)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: want %q, got %v", face, want, err)
		}
	}
}
