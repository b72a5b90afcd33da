package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, text string) Config {
	t.Helper()
	c, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func changesAfter(t *testing.T, c Config, settings ...string) (Config, []string) {
	t.Helper()
	before := c
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if err := c.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for _, change := range Changes(before, c) {
		all = append(all, change.String())
	}
	return c, all
}

func TestSetAndChanges(t *testing.T) {
	c := parsed(t, twoCameras+"participants: [{name: m, camera: a}]\n")
	for _, test := range []struct {
		set  []string
		want []string
	}{
		{[]string{"detect.every=3"}, []string{"detect.every: 5 -> 3"}},
		{[]string{"tracker.smoothing.enabled=false", "tracker.smoothing.pose={beta: 2}"}, []string{"tracker.smoothing.enabled: true -> false", "tracker.smoothing.pose.beta: 0.3 -> 2"}},
		{[]string{"cameras.a.priority=true"}, []string{"cameras.a.priority: false -> true"}},
		{[]string{"cameras.b="}, []string{"cameras.b: removed"}},
		{[]string{"cameras.b=null", "cameras.b={source: y}"}, nil},
		{[]string{"cameras.c={source: demo}"}, []string{`cameras.c: added, {name: c, source: demo, pace: realtime, loop: false, width: 0, height: 0, fps: 0.0, hfov_degrees: 0.0, latency_ms: 0.0, duration_s: 0.0, priority: false, gpu: ""}`}},
		{[]string{"ring.transports=shm,copy"}, []string{"ring.transports: [cuda-ipc, shm, copy] -> [shm, copy]"}},
		{[]string{"detect.every=5"}, nil},
	} {
		if _, got := changesAfter(t, c, test.set...); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q:\n got %q\nwant %q", test.set, got, test.want)
		}
	}
	if len(c.Cameras) != 2 || c.Cameras[1].Name != "b" {
		t.Errorf("setting changed what others share: %+v", c.Cameras)
	}
}

func TestSetErrors(t *testing.T) {
	for set, want := range map[string]string{
		"detect.evrey=3":                    `unknown setting "detect.evrey" (did you mean "detect.every"?)`,
		"every=3":                           `unknown setting "every" (did you mean "detect.every"?)`,
		"zzzzzzzzzzzz=3":                    `unknown setting "zzzzzzzzzzzz" (see facetrack.example.yaml for all keys)`,
		"detect.every.k=3":                  `unknown setting "detect.every.k": detect.every has no settings of its own`,
		"detect.every=":                     `detect.every has no value`,
		"detect.every=x":                    `detect.every is "x": `,
		"detect.every=1.5":                  `detect.every is "1.5"; it must be a whole number`,
		"cameras.z.fps=3":                   `cameras.z.fps: there is no camera named "z"`,
		"cameras.z=":                        `cameras.z: there is no camera named "z"`,
		"cameras.a={sourc: x}":              `cameras.a is "{sourc: x}": unknown key "sourc" (did you mean "source"?)`,
		"cameras.a={name: b, source: x}":    `cameras.a: its name is "b" there`,
		"participants.m=":                   `participants.m: there is no participant named "m"`,
		"tracker.smoothing.pose={betta: 1}": `tracker.smoothing.pose is "{betta: 1}": unknown key "betta" (did you mean "beta"?)`,
	} {
		c := parsed(t, twoCameras)
		key, value, _ := strings.Cut(set, "=")
		if err := c.Set(key, value); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", set, err, want)
		}
	}
}

func TestGet(t *testing.T) {
	c := parsed(t, twoCameras)
	got, err := c.Get("tracker.smoothing.pose")
	want := []Value{{"tracker.smoothing.pose.min_cutoff_hz", "1.5"}, {"tracker.smoothing.pose.beta", "0.3"}, {"tracker.smoothing.pose.d_cutoff_hz", "1"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Get("detect.evry"); err == nil || !strings.Contains(err.Error(), `did you mean "detect.every"?`) {
		t.Error(err)
	}
}

// What no process can take over is named, with who would have to start again and why.
func TestWhatNeedsARestart(t *testing.T) {
	c := parsed(t, twoCameras+"participants: [{name: m, camera: a}]\n")
	for set, want := range map[string]string{
		"rig=other":                        "rig needs a restart of all processes (it is part of every subject)",
		"data_dir=/x":                      "data_dir needs a restart of facetrack up (the NATS server has its store open)",
		"nats.url=nats://x":                "nats.url needs a restart of all processes",
		"ring.slots=9":                     "ring.slots needs a restart of capture, detect and landmarks",
		"cuda.gpu=off":                     "cuda.gpu needs a restart of capture, detect and landmarks",
		"infer.workers=3":                  "infer.workers needs a restart of detect and landmarks (the networks are loaded)",
		"detect.model=blazeface":           "detect.model needs a restart of detect (the network is loaded)",
		"detect.max_queue=7":               "detect.max_queue needs a restart of detect and capture",
		"landmarks.model=x":                "landmarks.model needs a restart of landmarks, tracker and lsl-out",
		"landmarks.max_queue=7":            "landmarks.max_queue needs a restart of landmarks and capture",
		"participants.m.interocular_mm=60": "participants.m.interocular_mm needs a restart of tracker and lsl-out",
		"lsl.mesh=true":                    "lsl.mesh needs a restart of lsl-out (streams are declared and open)",
		"synchrony.window_s=4":             "synchrony.window_s needs a restart of tracker and lsl-out",
		"cameras.a.source=z":               "cameras.a.source needs a restart of capture (the camera is open: remove it and add it again)",
	} {
		next, _ := changesAfter(t, c, set)
		got, err := c.Follow(next)
		if !errors.Is(err, ErrRestart) || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	next, _ := changesAfter(t, c, "rig=o", "lsl.mesh=true", "detect.every=2")
	if _, err := c.Follow(next); err == nil || strings.Count(err.Error(), "needs a restart") != 2 || strings.Contains(err.Error(), "detect.every") {
		t.Errorf("several: %v", err)
	}
	next, _ = changesAfter(t, parsed(t, twoCameras), "cameras.a=", "cameras.b=")
	if _, err := parsed(t, twoCameras).Follow(next); err == nil || !strings.Contains(err.Error(), "no camera would be left: stop the rig instead") {
		t.Errorf("no camera: %v", err)
	}
}

func TestWhatIsLive(t *testing.T) {
	c := parsed(t, twoCameras)
	next, _ := changesAfter(t, c, "detect.every=3", "detect.score_threshold=0.7", "detect.nms_threshold=0.4", "detect.max_faces=3", "landmarks.min_presence=0.3",
		"landmarks.max_faces=2", "tracker.memory_s=4", "tracker.reidentify_s=40", "tracker.smoothing.gaze.beta=1", "tracker.keep_raw=true", "lsl.max_slots=17",
		"cameras.a.priority=true", "cameras.b=", "cameras.c={source: z}")
	if got, err := c.Follow(next); err != nil || !reflect.DeepEqual(got, next) {
		t.Errorf("%v", err)
	}
	added, removed := CameraChanges(c, next)
	if len(added) != 1 || added[0].Name != "c" || len(removed) != 1 || removed[0].Name != "b" {
		t.Errorf("added %v, removed %v", added, removed)
	}
	// A file that leaves the models to the program means those that were chosen.
	c.Detect.Model, c.Detect.ModelReason = "blazeface", "auto: it is here"
	next.Detect.Model = Auto
	if got, err := c.Follow(next); err != nil || got.Detect.Model != "blazeface" || got.Detect.ModelReason != "auto: it is here" {
		t.Errorf("%+v, %v", got.Detect, err)
	}
}

func TestDocument(t *testing.T) {
	c := parsed(t, twoCameras+"participants: [{name: m, camera: a, area: [0, 0, 0.5, 1]}]\n")
	c.Detect.ModelReason = "auto: nothing else is here"
	at := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	text, err := NewDocument(c, "me@here", "set detect.every=3", at).Text()
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDocument("revision 3", text)
	if err != nil || len(Changes(c, d.Config)) != 0 || d.Detect.ModelReason != c.Detect.ModelReason || d.About.By != "me@here" || !d.About.At.Equal(at) {
		t.Errorf("%+v, %v\n%s", d, err, text)
	}
	for text, want := range map[string]string{
		"":                         "revision 3: it is empty",
		"detect:\n  evrey: 3\n":    `revision 3 line 2: unknown key "evrey" (did you mean "every"?)`,
		"detect:\n  every: 0\n":    `revision 3 line 2: invalid configuration: detect.every is "0"`,
		`{"detect": {"every": 0}}`: `revision 3 line 1: invalid configuration: detect.every is "0"`,
		"rig: [\n":                 "revision 3 line",
		"\xff\xfe\x00":             "revision 3",
	} {
		if _, err := ParseDocument("revision 3", []byte(text)); !errors.Is(err, ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if d, err := ParseDocument("by hand", []byte(`{"rig": "x"}`)); err != nil || d.Rig != "x" || d.Detect.Every != 5 || d.About.By != "" {
		t.Errorf("JSON by hand: %+v, %v", d, err)
	}
}
