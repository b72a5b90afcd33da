package ipc_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/ipc"
)

func TestAttachReplyReadsWell(t *testing.T) {
	s := startNATS(t, small)
	nc := connect(t, s.ClientURL())
	c := startCapture(t, nc, t.TempDir(), ipc.ServerOptions{})
	m, err := nc.Request("face.lab.cam.ring", []byte(`{"op":"attach","identity":"nats cli","session":"x","accepts":["shm"]}`), patience)
	if err != nil {
		t.Fatal(err)
	}
	var plain struct {
		Ring struct {
			Ring     string
			Geometry struct {
				Width, Height, Slots int
				Format               string
			}
			WriterPID int `json:"writer_pid"`
		}
		Transports []map[string]any
		Host       string
	}
	if err := json.Unmarshal(m.Data, &plain); err != nil {
		t.Fatal(err)
	}
	if plain.Ring.Ring != c.writer.ID() || plain.Ring.Geometry.Width != geometry.Width || plain.Ring.WriterPID != os.Getpid() || plain.Host == "" {
		t.Errorf("%+v", plain)
	}
	want := []map[string]any{
		{"transport": "cuda-ipc", "offered": false, "reason": "the ring is in host memory: capture has no CUDA device"},
		{"transport": "shm", "offered": true},
		{"transport": "copy", "offered": false, "reason": "the consumer does not accept it"},
	}
	if !reflect.DeepEqual(plain.Transports, want) {
		t.Errorf("transports %v", plain.Transports)
	}
}

func TestServerRefusesWithReason(t *testing.T) {
	s := startNATS(t, small)
	nc := connect(t, s.ClientURL())
	c := startCapture(t, nc, t.TempDir(), ipc.ServerOptions{})
	for request, want := range map[string]string{
		`{`: "refused", `{"op":"attach"}`: "refused", `{"op":"dance","identity":"i","session":"s"}`: "refused",
		`{"op":"ping","identity":"i","session":"s"}`: "revoked",
	} {
		m, err := nc.Request("face.lab.cam.ring", []byte(request), patience)
		if err != nil {
			t.Fatal(err)
		}
		if reply, err := ipc.DecodeAttachReply(m.Data); err != nil || reply.Error != want || reply.Text == "" {
			t.Errorf("%s: %v, %+v", request, err, reply)
		}
	}
	m, err := nc.Request("face.lab.cam.pixels", []byte(`{"session":"s","ticket":{"ring":"r","slot":0}}`), patience)
	if err != nil || m.Header.Get("Face-Error") != "revoked" {
		t.Errorf("pixels for a stranger: %v, %v", err, m)
	}
	if got := c.server.Stats(); got.Refused != 5 {
		t.Errorf("%+v", got)
	}
}

func testReply() ipc.AttachReply {
	handle := cuda.Handle{1, 2, 63: 255}
	return ipc.AttachReply{
		Ring: gpuring.Descriptor{Ring: "lab/cam/1", Rig: "lab", Camera: "cam", Generation: 1, Geometry: geometry, Nonce: "00ff",
			ControlPath: "/dev/shm/c", PixelPath: "/dev/shm/p", WriterPID: 3,
			Device: &gpuring.DeviceMemory{GPU: "GPU-1", Memory: handle, Events: []cuda.Handle{handle, handle}, Bytes: 1 << 21, PID: 3}},
		Transports: []ipc.Offer{{Transport: ipc.SHM, Offered: true}}, Host: "h", UID: 1000, Cell: 2,
	}
}

func TestHandlesAreBase64(t *testing.T) {
	data, err := json.Marshal(testReply())
	if err != nil {
		t.Fatal(err)
	}
	text := "AQIA" + strings.Repeat("A", 80) + "/w=="
	if !strings.Contains(string(data), `"memory_handle":"`+text+`"`) || !strings.Contains(string(data), `"event_handles":["`+text+`","`+text+`"]`) {
		t.Errorf("%s", data)
	}
	got, err := ipc.DecodeAttachReply(data)
	if err != nil || !reflect.DeepEqual(got, testReply()) {
		t.Errorf("%v: %+v", err, got)
	}
	for _, bad := range []string{"AQIA", "?" + text[1:]} {
		if _, err := ipc.DecodeAttachReply([]byte(strings.ReplaceAll(string(data), text, bad))); err == nil {
			t.Errorf("the handle %q is taken", bad)
		}
	}
}

// The largest ring's handles must fit into a reply.
func TestLargestReply(t *testing.T) {
	r := testReply()
	r.Ring.Geometry.Slots = gpuring.MaxSlots
	r.Ring.Device.Events = make([]cuda.Handle, gpuring.MaxSlots+1)
	for i := range r.Ring.Device.Events {
		r.Ring.Device.Events[i] = cuda.Handle{0: byte(i), 1: byte(i >> 8), 63: 1}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ipc.DecodeAttachReply(data)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%d bytes: %v", len(data), err)
	}
}

func TestAttachDecodersNameTheField(t *testing.T) {
	long := strings.Repeat("x", 200)
	reply := func(change func(*ipc.AttachReply)) string {
		r := testReply()
		change(&r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	requests := func(b []byte) error { _, err := ipc.DecodeAttachRequest(b); return err }
	replies := func(b []byte) error { _, err := ipc.DecodeAttachReply(b); return err }
	pixels := func(b []byte) error { _, err := ipc.DecodePixelRequest(b); return err }
	for _, c := range []struct {
		decode     func([]byte) error
		text, want string
	}{
		{requests, `{"identity":"a"}`, "session"},
		{requests, `{"session":"a.b","identity":"a"}`, `session "a.b"`},
		{requests, `{"session":"a"}`, "identity: invalid value"},
		{requests, `{"session":"a","identity":"a","accepts":["","","",""]}`, "accepts: invalid value"},
		{requests, `{"session":"a","identity":"a","op":"prove"}`, "challenge: invalid value"},
		{requests, `{"session":"a","identity":"a","challenge":"00"}`, "challenge: invalid value"},
		{requests, `{"session":"a","identity":"a","op":"prove","challenge":"` + strings.Repeat("x", 128) + `"}`, "challenge: invalid value"},
		{requests, `{"session":"` + strings.Repeat("x", 1<<16) + `"}`, "65550 bytes"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Ring = long }), "ring: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Geometry.Width = 0 }), "ring.geometry: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Geometry.Format = "RGB" }), "ring.geometry: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Geometry.Slots = 1000 }), "ring.geometry: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Device.Events = make([]cuda.Handle, 258) }), "event_handles: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Ring.Device.GPU = "" }), "gpu_uuid: invalid value"},
		{replies, reply(func(r *ipc.AttachReply) { r.Cell = -1 }), "cell: invalid value"},
		{pixels, `{"session":"a","ticket":{"slot":-1}}`, "ticket: invalid value"},
		{pixels, `{"session":"","ticket":{}}`, `session ""`},
		{pixels, `{"session":"a","ticket":{"ring":"` + long + `"}}`, "ticket: invalid value"},
	} {
		if err := c.decode([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want %q", c.text, err, c.want)
		}
	}
}

// fuzzAttach checks that what a decoder accepts can be written and is accepted again.
func fuzzAttach[M any](f *testing.F, decode func([]byte) (M, error), seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1<<16 { // escapes have made it longer than a decoder takes
			return
		}
		again, err := decode(text)
		if err != nil {
			t.Fatalf("own text refused: %v: %s", err, text)
		}
		if fixed, err := json.Marshal(again); err != nil || string(fixed) != string(text) {
			t.Fatalf("not stable: %v\n%s\n%s", err, text, fixed)
		}
	})
}

func FuzzDecodeAttachRequest(f *testing.F) {
	fuzzAttach(f, ipc.DecodeAttachRequest, `{"op":"attach","identity":"detect","session":"none","host":"h","pid":4,"accepts":["cuda-ipc","shm"]}`,
		`{"op":"prove","identity":"detect","session":"none","challenge":"`+strings.Repeat("0aF9", 32)+`"}`)
}

func FuzzDecodeAttachReply(f *testing.F) {
	data, err := json.Marshal(testReply())
	if err != nil {
		f.Fatal(err)
	}
	fuzzAttach(f, ipc.DecodeAttachReply, string(data), `{"error":"stale","text":"x"}`)
}

func FuzzDecodePixelRequest(f *testing.F) {
	fuzzAttach(f, ipc.DecodePixelRequest, `{"session":"s","ticket":{"ring":"lab/cam/1","slot":1,"generation":2,"seq":3}}`)
}
