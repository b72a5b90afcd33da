package ipc_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"facetrack/ipc"
)

const identity = `"camera":"c","seq":1,"t_capture_ns":2,"t_wall_ns":3,"ring":"r/c/1","slot":0,"generation":4,"width":640,"height":480,"format":"BGR","t_ns":{}`

func repeat(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }

func TestDecodeNamesTheField(t *testing.T) {
	frame := func(old, new string) string { return "{" + strings.Replace(identity, old, new, 1) + "}" }
	face := func(s string) string { return "{" + identity + `,"topology":"t","faces":[` + s + "]}" }
	const head = `{"roi":{"cx":1,"cy":1,"size":1,"rotation":0},"presence":1,"points":`
	const tracked = `{"id":1,"box":[1,2,3,4],"pose":null,`
	type decoder func([]byte) error
	frames := decoder(func(b []byte) error { _, err := ipc.DecodeFrame(b); return err })
	landmarks := decoder(func(b []byte) error { _, err := ipc.DecodeLandmarks(b); return err })
	tracks := decoder(func(b []byte) error { _, err := ipc.DecodeTracks(b); return err })
	detections := decoder(func(b []byte) error { _, err := ipc.DecodeDetections(b); return err })
	drop := decoder(func(b []byte) error { _, err := ipc.DecodeDrop(b); return err })
	event := decoder(func(b []byte) error { _, err := ipc.DecodeEvent(b); return err })
	for _, c := range []struct {
		decode     decoder
		text, want string
	}{
		{frames, ``, "message ends at byte 0"},
		{frames, `[]`, "an object expected"},
		{frames, frame(`"seq":1`, `"seq":-1`), "seq: number out of range: -1"},
		{frames, frame(`"seq":1`, `"seq":1.5`), "seq: value of another kind expected: an integer, found 1.5"},
		{frames, frame(`"seq":1`, `"seq":18446744073709551616`), "seq: number out of range"},
		{frames, frame(`"seq":1`, `"seq":01`), "seq: malformed JSON: leading zero"},
		{frames, frame(`"seq":1`, `"seq":1,"seq":2`), "seq: field given twice"},
		{frames, frame(`"seq":1,`, ``), "seq: field missing"},
		{frames, frame(`"camera":"c"`, `"camera":"a b"`), `camera: camera "a b": not a name`},
		{frames, frame(`"camera":"c"`, `"camera":7`), "camera: value of another kind expected: a string expected"},
		{frames, frame(`"slot":0`, `"slot":-1`), "slot: number out of range"},
		{frames, frame(`"width":640`, `"width":0`), "width: invalid value: 0, 1 to 65536 px"},
		{frames, frame(`"height":480`, `"height":65537`), "height: invalid value"},
		{frames, frame(`"format":"BGR"`, `"format":"RGB"`), `format: invalid value: "RGB", BGR, NV12 or YUYV expected`},
		{frames, frame(`"ring":"r/c/1"`, `"ring":""`), "ring: invalid value"},
		{frames, frame(`"ring":"r/c/1"`, `"ring":"`+strings.Repeat("x", 129)+`"`), "ring: string too long"},
		{frames, frame(`"t_ns":{}`, `"t_ns":{"detect":"x"}`), "t_ns.detect: value of another kind"},
		{frames, frame(`"t_ns":{}`, `"t_ns":{}} {`), "end of the message expected"},
		{frames, frame(`"t_ns":{}`, `"x":`+strings.Repeat("[", 100)), "nested too deeply"},
		{landmarks, "{" + identity + `,"topology":"t"}`, "faces: field missing"},
		{landmarks, face(head + `[[1,2]]}`), "faces[0].points[0]: value of another kind expected"},
		{landmarks, face(head + `[[1,2,3,4]]}`), "faces[0].points[0]"},
		{landmarks, face(head + `[[1,2,null]]}`), "faces[0].points[0]: value of another kind expected: a number"},
		{landmarks, face(head + `[[1,2,1e39]]}`), "faces[0].points[0]: number out of range: 1e39"},
		{landmarks, face(head + "[" + repeat("[1,2,3]", ipc.MaxPoints+1) + "]}"), "faces[0].points: too many elements: at most 1024"},
		{landmarks, face(head + `[],"blendshapes":[` + repeat("0", ipc.MaxBlendshapes+1) + "]}"), "faces[0].blendshapes: too many elements: at most 256"},
		{landmarks, face(repeat(head+`[]}`, ipc.MaxFaces+1)), "faces: too many elements: at most 64"},
		{landmarks, face(`{"roi":{"cx":1},"presence":1,"points":[]}`), "faces[0].roi.cy: field missing"},
		{landmarks, face(`{"roi":{"cx":1,"cy":1,"size":-1,"rotation":0},"presence":1,"points":[]}`), "faces[0].roi.size: invalid value"},
		{tracks, face(`{"id":-1}`), "faces[0].id: number out of range"},
		{tracks, face(`{"id":1,"box":[1,2,3,4],"pose":{"yaw":true}}`), "faces[0].pose.yaw: value of another kind"},
		{tracks, face(tracked + `"gaze":{"yaw":[]}}`), "faces[0].gaze.yaw: value of another kind"},
		{tracks, face(tracked + `"gaze":{"left":{"origin_cm":[1,2,3]}}}`), "faces[0].gaze.left.direction: field missing"},
		{tracks, face(tracked + `"gaze":{"right":{"direction":[1,0]}}}`), "faces[0].gaze.right.direction: value of another kind expected: 3 numbers"},
		{detections, "{" + identity + `,"ran":true,"faces":[{"box":[0,0,1],"score":1}]}`, "faces[0].box: value of another kind expected: 4 numbers"},
		{detections, "{" + identity + `,"ran":true,"faces":[{"box":[0,0,-1,1],"score":1}]}`, "faces[0].box: invalid value"},
		{detections, "{" + identity + `,"faces":[]}`, "ran: field missing"},
		{tracks, "{" + identity + `,"topology":"t"}`, "faces: field missing"},
		{detections, "{" + identity + `,"ran":1,"faces":[]}`, "ran: value of another kind expected: true or false"},
		{tracks, face(`{"id":1,"box":[1,2,3,4],"pose":null,"participant":"a b"}`), `faces[0].participant: participant "a b": not a name`},
		{tracks, face(`{"id":1,"box":[1,2,3,4],"pose":null,"participant":7}`), "faces[0].participant: value of another kind"},
		{event, `{"camera":"c","stage":"detect","t_ns":1}`, "event: field missing"},
		{event, `{"camera":"c","stage":"detect","event":"x"}`, "t_ns: field missing"},
		{event, `{"camera":"c","stage":"detect","event":"","t_ns":1}`, "event: invalid value: 1 to 128 bytes"},
		{event, `{"camera":"c","stage":"a.b","event":"x","t_ns":1}`, `stage "a.b": not a name`},
		{event, `{"camera":"","stage":"detect","event":"x","t_ns":1}`, `camera "": not a name`},
		{event, `{"camera":"c","stage":"detect","event":"x","t_ns":1,"value":"` + strings.Repeat("x", 129) + `"}`, "value: string too long"},
		{event, `{"camera":"c","stage":"detect","event":"x","t_ns":1,"reason":"` + strings.Repeat("x", 1025) + `"}`, "reason: string too long"},
		{event, `{"camera":"c","stage":"detect","event":"x","t_ns":1.5}`, "t_ns: value of another kind"},
		{drop, `{"camera":"c","stage":"detect","reason":"r","seqs":[` + repeat("1", ipc.MaxSeqs+1) + `]}`, "seqs: too many elements"},
		{drop, `{"camera":"c","stage":"de.tect","reason":"r","seqs":[1]}`, `stage "de.tect"`},
	} {
		if err := c.decode([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.120s:\nwant %q\n got %v", c.text, c.want, err)
		}
	}
}

func TestDecodeAcceptsForeignText(t *testing.T) {
	text := `
	{ "faces" : [ ] , "unknown": {"a": [1, {"b": "ü\n"}], "c": null, "d": -1.5E+3, "e": false}, "topology":"t\u0041",
	  "format":"NV12","height":2,"width":2,"generation":0,"slot":0,"ring":"r","t_capture_ns":-5,"seq":9,"camera":"z" }
	`
	m, err := ipc.DecodeLandmarks([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if m.Seq != 9 || m.Topology != "tA" || m.CaptureNS != -5 || m.Camera != "z" || len(m.Faces) != 0 {
		t.Errorf("read %+v", m)
	}
	if _, err := ipc.DecodeLandmarks([]byte("{" + identity + `,"topology":"t","faces":null}`)); err != nil {
		t.Errorf("null for an empty list: %v", err)
	}
	peeked, err := ipc.PeekFrame([]byte(text))
	if err != nil || peeked != m.Frame {
		t.Errorf("peek in another order: %v, %+v", err, peeked)
	}
}

// Tracks of a tracker that knows no gaze are read as before.
func TestTracksWithoutGaze(t *testing.T) {
	for _, gaze := range []string{``, `"gaze":null,`, `"gaze":{"pitch":1,"yaw":2,"left":null,"right":null},`} {
		text := "{" + identity + `,"topology":"t","faces":[{"id":7,"box":[1,2,3,4],"score":1,"pose":null,` + gaze + `"points":[]}]}`
		m, err := ipc.DecodeTracks([]byte(text))
		if err != nil || len(m.Faces) != 1 || m.Faces[0].ID != 7 {
			t.Fatalf("%q: %v, %+v", gaze, err, m.Faces)
		}
		if g := m.Faces[0].Gaze; (g != nil) != strings.Contains(gaze, "pitch") || g != nil && (g.Left != nil || g.Right != nil || g.Yaw != 2) {
			t.Errorf("%q: %+v", gaze, g)
		}
		if _, ids, err := ipc.PeekTracks([]byte(text)); err != nil || !slices.Equal(ids, []int{7}) {
			t.Errorf("%q: peeked %v, %v", gaze, ids, err)
		}
	}
}

func TestPeekFrame(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, ack := range []bool{false, true} {
		for _, m := range []ipc.Message{testDetections(), testLandmarks(r, 1, 5), testTracks(r, 1), ptr(testFrame())} {
			want := m.(interface{ Identity() *ipc.Frame }).Identity()
			want.Ack = ack
			data, err := m.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ipc.PeekFrame(data); err != nil || got != *want {
				t.Errorf("%T: %v, %+v", m, err, got)
			}
		}
	}
	if _, err := ipc.PeekFrame([]byte("{" + identity + `,"faces":[what follows is not read`)); err != nil {
		t.Errorf("read past the identity: %v", err)
	}
	parted := strings.Replace(identity, `"ring"`, `"faces":[{}],"ring"`, 1)
	if f, err := ipc.PeekFrame([]byte("{" + parted + "}")); err != nil || f.Format != "BGR" {
		t.Errorf("an identity in two parts: %v, %+v", err, f)
	}
	for _, bad := range []string{`{}`, `{"camera":"c"`, "{" + strings.Replace(identity, "BGR", "bgr", 1) + `,"faces":[]}`} {
		if f, err := ipc.PeekFrame([]byte(bad)); err == nil {
			t.Errorf("%s was accepted as %+v", bad, f)
		}
	}
}

func TestPeekTracks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	want := testTracks(r, 3)
	want.Faces[0].ID, want.Faces[1].ID, want.Faces[2].ID, want.Lost = 7, 2, 30, []int{4}
	data, err := want.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, ids, err := ipc.PeekTracks(data)
	if err != nil || f != want.Frame || !slices.Equal(ids, []int{7, 2, 30}) {
		t.Errorf("%v: %+v, %v", err, f, ids)
	}
	for text, want := range map[string][]int{
		"{" + identity + `,"topology":"t","faces":[]}`:                                                                   nil,
		`{"faces":[{"points":[[1,2,"]"]],"pose":{"x":["}"]},"id":3},{"id":4}],"x":[{}],` + identity + `,"topology":"t"}`: {3, 4},
		"{" + identity + `,"faces":[{"id":5,"points":[what is passed over is not read]}],"lost":and so on`:               {5},
	} {
		if f, ids, err := ipc.PeekTracks([]byte(text)); err != nil || f.Format != "BGR" || !slices.Equal(ids, want) {
			t.Errorf("%s: %v, %+v, %v", text, err, f, ids)
		}
	}
	for _, bad := range []string{
		"{" + identity + "}", "{" + identity + `,"faces":[{"box":[1]}]}`, "{" + identity + `,"faces":[{"id":1,"points":[1,[2]`,
		"{" + identity + `,"faces":[{"id":1,"points":["x]}]`, "{" + identity + `,"faces":[{"id":-1}]}`, `{"faces":[{"id":1}]}`, "{" + identity + `,"faces":{}}`,
	} {
		if f, ids, err := ipc.PeekTracks([]byte(bad)); err == nil {
			t.Errorf("%s was accepted as %+v, %v", bad, f, ids)
		}
	}
}

func TestSubjects(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ipc.Subject("lab", "cam-1", ipc.KindFrame), "face.lab.cam-1.frame"},
		{ipc.AllCameras("lab", ipc.KindTracks), "face.lab.*.tracks"},
		{ipc.AllKinds("lab", "c"), "face.lab.c.*"},
		{ipc.SynchronySubject("lab", "mother", "cam0:2"), "face.lab.synchrony.mother.cam0:2"},
		{ipc.SynchronySubject("lab", ipc.Any, ipc.Any), "face.lab.synchrony.*.*"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for _, kind := range strings.Fields("frame detections landmarks tracks drops ack end ring pixels release invite events") {
		rig, camera, k, err := ipc.ParseSubject("face.lab.A_b-9." + kind)
		if err != nil || rig != "lab" || camera != "A_b-9" || string(k) != kind {
			t.Errorf("%s: %q %q %q %v", kind, rig, camera, k, err)
		}
	}
	long := strings.Repeat("x", 33)
	for _, bad := range []string{"", "face.lab.c", "face.lab.c.frame.x", "eye.lab.c.frame", "face..c.frame", "face.lab.*.frame",
		"face.lab.c.frames", "face.lab.ç.frame", "face." + long + ".c.frame"} {
		if _, _, _, err := ipc.ParseSubject(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if !ipc.ValidToken(long[:32]) || ipc.ValidToken("a.b") || ipc.ValidToken(">") {
		t.Error("ValidToken")
	}
	if err := ipc.CheckToken("camera", "a b"); err == nil || !strings.Contains(err.Error(), `camera "a b"`) {
		t.Error(err)
	}
}

func ptr[T any](v T) *T { return &v }

func ExampleSubject() {
	fmt.Println(ipc.Subject("lab", "front", ipc.KindTracks))
	fmt.Println(ipc.AllCameras("lab", ipc.KindTracks))
	// Output:
	// face.lab.front.tracks
	// face.lab.*.tracks
}
