package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

const twoCameras = "cameras:\n  - {name: a, source: x}\n  - {name: b, source: y}\n"

func TestParticipants(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte(twoCameras+`participants:
  - {name: mother, camera: a, area: [0, 0, 0.5, 1]}
  - {name: child, camera: a, area: [0.5, 0, 1, 1], interocular_mm: 52}
  - {name: other, camera: b}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Participant{
		{Name: "mother", Camera: "a", Area: []float64{0, 0, 0.5, 1}, InterocularMM: 63},
		{Name: "child", Camera: "a", Area: []float64{0.5, 0, 1, 1}, InterocularMM: 52},
		{Name: "other", Camera: "b", Identity: 1, InterocularMM: 63},
	}
	if !reflect.DeepEqual(cfg.Participants, want) {
		t.Errorf("got %+v", cfg.Participants)
	}
	if got := cfg.ParticipantsOf("a"); len(got) != 2 || len(cfg.ParticipantsOf("c")) != 0 {
		t.Errorf("of camera a: %+v", got)
	}
	pairs := [][2]string{{"mother", "child"}, {"mother", "other"}, {"child", "other"}}
	if got := cfg.SynchronyPairs(); !reflect.DeepEqual(got, pairs) {
		t.Errorf("pairs %v", got)
	}
	cfg.Synchrony.Enabled = false
	if got := cfg.SynchronyPairs(); got != nil {
		t.Errorf("pairs although switched off: %v", got)
	}
}

// With one camera a participant needs no camera's name, also when the camera comes from the command line.
func TestCameraOfParticipantsMayComeLater(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte("participants:\n  - name: mother\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cameras = []Camera{{Name: "cam0", Source: "x", Pace: "realtime"}}
	cfg.Complete()
	if err := cfg.Validate(); err != nil || cfg.Participants[0].Camera != "cam0" {
		t.Errorf("%+v, %v", cfg.Participants, err)
	}
}

func TestPairs(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte(twoCameras+"participants:\n  - {name: mother, camera: a}\nsynchrony:\n  pairs: [[mother, b:2]]\n  channels: [jawOpen]\n  window_s: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.SynchronyPairs(); !reflect.DeepEqual(got, [][2]string{{"mother", "b:2"}}) {
		t.Errorf("pairs %v", got)
	}
	o, err := cfg.Synchrony.Options()
	if err != nil || !reflect.DeepEqual(o.Channels, []int{25}) || o.WindowSeconds != 3 || o.MaxLagSeconds != 2 {
		t.Errorf("options %+v, %v", o, err)
	}
}

func TestParticipantsAndPairsThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"participants: [{name: a b, camera: a}]":                                   "participants[0].name",
		"participants: [{name: m, camera: a}, {name: m, camera: b}]":               "a name that nobody else has",
		"participants: [{name: m, camera: c}]":                                     "one of the cameras' names: a, b",
		"participants: [{name: m}]":                                                "participants[0].camera",
		"participants: [{name: m, camera: a, identity: 1, area: [0, 0, 1, 1]}]":    "left out where an area is given",
		"participants: [{name: m, camera: a}, {name: n, camera: a}]":               "that nobody else has",
		"participants: [{name: m, camera: a, area: [0, 0, 1]}]":                    "participants[0].area",
		"participants: [{name: m, camera: a, area: [0.5, 0, 0.5, 1]}]":             "participants[0].area",
		"participants: [{name: m, camera: a, area: [0, 0, .nan, 1]}]":              "participants[0].area",
		"participants: [{name: m, camera: a, identity: -1}]":                       "participants[0].identity",
		"participants: [{name: m, camera: a, interocular_mm: 6.3}]":                "participants[0].interocular_mm",
		"synchrony: {pairs: [[m, n]]}":                                             "synchrony.pairs[0]",
		"synchrony: {pairs: [[\"a:1\"]]}":                                          "two participants",
		"synchrony: {pairs: [[\"a:1\", \"a:1\"]]}":                                 "two participants",
		"synchrony: {pairs: [[\"a:1\", \"c:1\"]]}":                                 "camera and number",
		"synchrony: {pairs: [[\"a:1\", \"b:01\"]]}":                                "camera and number",
		"synchrony: {pairs: [[\"a:1\", \"b:1\"], [\"b:1\", \"a:1\"]]}":             "not in the list yet",
		"synchrony: {channels: [mouthSmileLeftt]}":                                 `did you mean "mouthSmileLeft"`,
		"synchrony: {channels: []}":                                                "Channels has 0 entries",
		"synchrony: {window_s: 0.1, rate_hz: 10}":                                  "WindowSeconds",
		"participants: [{name: m, camera: a}]\nsynchrony: {pairs: [[m, \"a:1\"]]}": "camera and number",
		"lsl: {session_id: \"it's\"}":                                              "lsl.session_id",
		"lsl: {loopback_only: true, interfaces: [eth0]}":                           "lsl.interfaces",
		"synchrony: {window_s: 0}":                                                 `synchrony.window_s is "0"; it must be 0.1 to 300`,
		"synchrony: {step_s: .nan}":                                                "synchrony.step_s",
		"lsl: {slots: 20, max_slots: 4}":                                           "lsl.slots",
		"lsl: {session_id: \"a\\nb\"}":                                             "lsl.session_id",
		"lsl: {base_port: 0}":                                                      "lsl.base_port",
	} {
		if _, err := Parse("f.yaml", []byte(twoCameras+text+"\n")); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("f.yaml", []byte("cameras:\n  - {name: a, source: x, latency_ms: -1}\n")); err == nil || !strings.Contains(err.Error(), "latency_ms") {
		t.Errorf("latency: %v", err)
	}
	if _, err := Parse("f.yaml", []byte("cameras:\n  - {name: a, source: x, hfov_degrees: 179}\n")); err == nil || !strings.Contains(err.Error(), "1 to 175") {
		t.Errorf("field of view: %v", err)
	}
}

func TestAcquired(t *testing.T) {
	if got := (Camera{LatencyMS: 12.5}).AcquiredNS(1_000_000_000); got != 987_500_000 {
		t.Errorf("%d", got)
	}
}
