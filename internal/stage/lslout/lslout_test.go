package lslout

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/streams"
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
	return cfg
}

// surroundings have no server.
func surroundings(t *testing.T) *stage.Env {
	t.Helper()
	return &stage.Env{Name: stage.LSLOut, Config: configured(t), Telemetry: telemetry.New(stage.LSLOut), Log: stagetest.Quiet, Ready: func() {}}
}

// named finds an outlet.
func (o *outlets) named(t *testing.T, name string) *lsl.Outlet {
	t.Helper()
	for _, outlet := range o.all {
		if outlet.Info().Name == name {
			return outlet
		}
	}
	t.Fatalf("no stream %q", name)
	return nil
}

// tracks are the faces of frame seq of a camera, captured seq milliseconds after second 100.
func tracks(seq uint64, faces ...ipc.TrackedFace) ipc.Tracks {
	return ipc.Tracks{Faces: faces, Frame: ipc.Frame{
		Camera: "cam", Seq: seq, CaptureNS: 100e9 + int64(seq)*1e6, Ring: "lab/cam/1", Width: 640, Height: 480, Format: "BGR",
	}}
}

func face(id int, score float64) ipc.TrackedFace {
	f := ipc.TrackedFace{ID: id, Score: score, Blendshapes: make([]float64, 52), Pose: &ipc.Pose{Z: 60}}
	f.Blendshapes[25] = score / 2
	return f
}

// reader reads a stream over TCP as LSL programs do.
type reader struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func subscribe(t *testing.T, o *lsl.Outlet) *reader {
	t.Helper()
	conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", o.TCPPort()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(stagetest.Deadline))
	request := "LSL:streamfeed/110 " + o.UID() + "\r\nNative-Byte-Order: 1234\r\nHas-IEEE754-Floats: 1\r\nValue-Size: 4\r\n" +
		"Data-Protocol-Version: 110\r\nMax-Buffer-Length: 360\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, conn: conn, in: bufio.NewReader(conn)}
	for line := "-"; line != ""; line = r.line() {
		if line != "-" && strings.HasPrefix(line, "LSL/") && line != "LSL/110 200 OK" {
			t.Fatalf("feed refused: %s", line)
		}
	}
	r.sample() // two test patterns come before the data
	r.sample()
	return r
}

func (r *reader) line() string {
	r.t.Helper()
	line, err := r.in.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (r *reader) sample() (stamp float64, values [54]float32) {
	r.t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		r.t.Fatal(err)
	}
	if err := binary.Read(r.in, binary.LittleEndian, &values); err != nil {
		r.t.Fatal(err)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(head[1:])), values
}

// expect checks the next sample: which frame, and whether the face is in it.
func (r *reader) expect(seq uint64, present bool, score float32) {
	r.t.Helper()
	stamp, v := r.sample()
	if math.Abs(stamp-(100+float64(seq)/1000)) > 1e-9 || v[53] != float32(seq) || v[52] != score {
		r.t.Errorf("stamp %v, frame number %v, confidence %v; want frame %d, %v", stamp, v[53], v[52], seq, score)
	}
	if present && v[25] != score/2 || !present && !math.IsNaN(float64(v[25])) {
		r.t.Errorf("frame %d: jawOpen %v, present %v", seq, v[25], present)
	}
}

func TestStageFollowsTheTracks(t *testing.T) {
	b := stagetest.NewBus(t)
	cfg := configured(t)
	cfg.Cameras = []config.Camera{{Name: "cam"}}
	env, stop := b.Run(stage.LSLOut, cfg, Run)
	if err := b.NC.Publish(ipc.Subject("lab", "cam", ipc.KindTracks), []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(20) {
		m := tracks(seq, face(1, 0.5))
		b.Publish("cam", ipc.KindTracks, &m)
	}
	other := tracks(0, face(1, 0.5)) // not in the configuration: it gets its streams when it shows up
	other.Camera = "other"
	b.Publish("other", ipc.KindTracks, &other)
	b.Eventually("all frames are out", func() bool {
		s := env.Telemetry.Snapshot().Cameras
		return s["cam"].Frames == 20 && s["other"].Frames == 1
	})
	if s := env.Telemetry.Snapshot().Cameras["cam"]; s.Faces != 20 || len(s.Dropped) != 0 {
		t.Errorf("telemetry %+v", s)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestDisabledStageListensToNothing(t *testing.T) {
	cfg := configured(t)
	cfg.LSL.Enabled = false
	cfg.Cameras = []config.Camera{{Name: "cam"}}
	env, stop := stagetest.NewBus(t).Run(stage.LSLOut, cfg, Run)
	if n := env.Bus.NumSubscriptions(); n != 0 {
		t.Errorf("%d subscriptions", n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A stream that cannot be described would fail again after a restart.
func TestImpossibleStreamIsPermanent(t *testing.T) {
	env := surroundings(t)
	env.Config.LSL.SessionID = "it's mine"
	env.Config.Cameras = []config.Camera{{Name: "cam"}}
	if err := Run(t.Context(), env); !errors.Is(err, stage.ErrPermanent) || !errors.Is(err, lsl.ErrInvalidInfo) {
		t.Errorf("run: %v", err)
	}
}

// Every stream of a camera gets one sample a frame, at the frame's capture instant.
func TestEveryFrameIsASampleOfEveryStream(t *testing.T) {
	env := surroundings(t)
	env.Config.LSL.MaxSlots = 2
	sink := &outlets{ctx: t.Context(), options: lsl.Options{LoopbackOnly: true, SessionID: env.Config.LSL.SessionID}}
	set, err := streams.New(env.Config, sink, env.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	o := &output{env: env, set: set}
	push := func(seq uint64, faces ...ipc.TrackedFace) {
		m := tracks(seq, faces...)
		o.frame(&m)
	}
	push(9)
	one := subscribe(t, sink.named(t, "facetrack lab cam face 1 expression"))
	push(10, face(1, 0.5))
	push(11, face(2, 0.25))
	two := subscribe(t, sink.named(t, "facetrack lab cam face 2 expression"))
	push(12, face(1, 0.125), face(2, 1), face(3, 1))

	one.expect(10, true, 0.5)
	one.expect(11, false, 0)
	one.expect(12, true, 0.125)
	two.expect(12, true, 1)
	if got := sink.state(); got != (telemetry.Streams{Open: 7, Readers: 2}) { // events, and three for each of two people
		t.Errorf("streams %+v", got)
	}
	s := env.Telemetry.Snapshot().Cameras["cam"]
	if s.Frames != 4 || s.Faces != 5 || fmt.Sprint(s.Dropped) != "map[too-many-streams:1]" {
		t.Errorf("telemetry %+v", s)
	}
}

// The stage opens its outlets as the configuration says.
func TestOutletsAsConfigured(t *testing.T) {
	env := surroundings(t)
	env.Config.LSL.LoopbackOnly, env.Config.LSL.Interfaces = false, []string{"no-such-network"}
	if _, err := open(t.Context(), env); !errors.Is(err, lsl.ErrInterface) {
		t.Errorf("interfaces: %v", err)
	}
	env = surroundings(t)
	env.Config.LSL.DiscoveryPort = 70000
	if _, err := open(t.Context(), env); !errors.Is(err, lsl.ErrInvalidInfo) {
		t.Errorf("ports: %v", err)
	}
}

// When the outlets are behind, the oldest frame of the same camera makes room; its account is closed already.
func TestFullQueueDropsTheOldest(t *testing.T) {
	env := surroundings(t)
	o, err := open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.set.Close() })
	for seq := range uint64(maxQueue + 2) {
		m := tracks(seq)
		data, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		o.receive(data)
	}
	if got := env.Telemetry.Snapshot().Cameras["cam"].Dropped["queue-full"]; got != 2 {
		t.Errorf("%d frames made room, want 2", got)
	}
	if first, ok := o.queue.Pop(t.Context()); !ok || first.Seq != 2 {
		t.Errorf("frame %d is next, want 2", first.Seq)
	}
}
