package capture

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/source"
	"facetrack/internal/stage"
	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// Every frame of a recorded source is announced once, in order, with the pixels of that very frame behind its ticket.
func TestFramesAreNumberedWithoutGaps(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=1,frames=20,fps=25,size=320x240,format=NV12", "max"))
	reader, err := gpuring.Open(c.ring.Descriptor(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	ended := r.run(t.Context(), c.run)
	for want := range uint64(20) {
		f := stagetest.Next(t, r.frames)
		if f.Seq != want || f.Camera != "cam0" || f.Width != 320 || f.Height != 240 || f.Format != "NV12" || !f.Ack {
			t.Fatalf("frame %d: %+v", want, f)
		}
		if media := int64(float64(want+1) * 1e9 / 25); math.Abs(float64(f.MediaNS-media)) > 1 {
			t.Errorf("frame %d: media time %d, want %d", want, f.MediaNS, media)
		}
		if f.CaptureNS <= 0 || f.Stamps.Capture < f.CaptureNS || f.WallNS <= f.CaptureNS {
			t.Errorf("frame %d: captured %d, announced %d, wall %d", want, f.CaptureNS, f.Stamps.Capture, f.WallNS)
		}
		lease, err := reader.Lease(f.Ticket())
		if err != nil {
			t.Fatal(err)
		}
		index, err := source.SyntheticIndex(lease.View().Host, f.Format, f.Width)
		if err != nil || uint64(index) != want {
			t.Errorf("frame %d shows picture %d, %v", want, index, err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		r.ack(f)
	}
	end := stagetest.Next(t, r.ends)
	if want := (ipc.End{Camera: "cam0", LastSeq: 19, Reason: "end of source"}); end != want {
		t.Errorf("end %+v, want %+v", end, want)
	}
	r.mustEnd(ended)
	if s := r.env.Telemetry.Snapshot().Cameras["cam0"]; s.Frames != 20 || s.State != "ended: end of source" {
		t.Errorf("telemetry %+v", s)
	}
}

// abandon leaves behind what a killed capture leaves: ring files that nobody holds.
func abandon(t *testing.T, c *camera) {
	t.Helper()
	kept := map[string][]byte{}
	d := c.ring.Descriptor()
	for _, path := range []string{d.ControlPath, d.PixelPath} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kept[path] = data
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for path, data := range kept {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSuccessorOfAKilledCaptureGoesOn(t *testing.T) {
	r := newRig(t)
	cfg := drawn("synthetic:faces=1,frames=12,size=160x120", "max")
	first := r.camera(cfg)
	for range 7 {
		at, err := first.src.Grab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.frame(first, at)
	}
	for range 7 {
		stagetest.Next(t, r.frames)
	}
	before := first.ring.Generation()
	abandon(t, first)

	second := r.camera(cfg)
	if second.ring.Generation() != before+1 || second.position != 7 {
		t.Fatalf("generation %d after %d, position %d, want 7", second.ring.Generation(), before, second.position)
	}
	reader, err := gpuring.Open(second.ring.Descriptor(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	ended := r.run(t.Context(), second.run)
	for want := uint64(7); want < 12; want++ {
		f := stagetest.Next(t, r.frames)
		lease, err := reader.Lease(f.Ticket())
		if err != nil {
			t.Fatal(err)
		}
		index, err := source.SyntheticIndex(lease.View().Host, f.Format, f.Width)
		if f.Seq != want || err != nil || uint64(index) != want || f.MediaNS != int64(float64(want+1)*1e9/30) {
			t.Errorf("frame %d shows picture %d (%v) of media time %d, want %d", f.Seq, index, err, f.MediaNS, want)
		}
		_ = lease.Release()
		r.ack(f)
	}
	if end := stagetest.Next(t, r.ends); end.LastSeq != 11 {
		t.Errorf("end %+v", end)
	}
	r.mustEnd(ended)
}

// A capture that ended in order leaves nothing to go on from.
func TestOrderlyEndStartsAnew(t *testing.T) {
	r := newRig(t)
	cfg := drawn("synthetic:faces=1,frames=3,size=160x120", "max")
	first := r.camera(cfg)
	at, err := first.src.Grab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.frame(first, at)
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.env.Config.Ring.Dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if second := r.camera(cfg); second.position != 0 || second.ring.NextSeq() != 0 {
		t.Errorf("position %d", second.position)
	}
}

// A consumer that keeps every slot costs frames, not time: each is dropped, numbered and announced as such.
func TestFrameWithoutASlotIsDropped(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	reader, err := gpuring.Open(c.ring.Descriptor(), "greedy")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := r.run(ctx, c.run)
	var held []gpuring.Lease
	for want := range uint64(4) {
		src.step(1)
		f := stagetest.Next(t, r.frames)
		lease, err := reader.Lease(f.Ticket())
		if err != nil || f.Seq != want {
			t.Fatalf("frame %d: seq %d, %v", want, f.Seq, err)
		}
		held = append(held, lease)
	}
	src.step(2)
	var dropped []uint64
	for len(dropped) < 2 {
		d := stagetest.Next(t, r.drops)
		if d.Camera != "cam0" || d.Stage != "capture" || d.Reason != "no-free-slot" {
			t.Fatalf("drop %+v", d)
		}
		dropped = append(dropped, d.Seqs...)
	}
	if dropped[0] != 4 || dropped[1] != 5 {
		t.Errorf("dropped %v, want 4 and 5", dropped)
	}
	if err := held[2].Release(); err != nil {
		t.Fatal(err)
	}
	src.step(1)
	if f := stagetest.Next(t, r.frames); f.Seq != 6 || f.Slot != 2 {
		t.Errorf("frame %d in slot %d after the drop, want 6 in slot 2", f.Seq, f.Slot)
	}
	for seq := range uint64(7) {
		r.ack(ipc.Frame{Camera: "cam0", Seq: seq})
	}
	cancel()
	if end := stagetest.Next(t, r.ends); end.LastSeq != 6 || end.Reason != "stopped" {
		t.Errorf("end %+v", end)
	}
	r.mustEnd(ended)
	if got := r.env.Telemetry.Snapshot().Cameras["cam0"]; got.Dropped["no-free-slot"] != 2 || got.Frames != 5 {
		t.Errorf("telemetry %+v", got)
	}
}

func TestUndecodableFrameIsDropped(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.broken = 1
	src.step(2)
	src.steps <- io.EOF
	ended := r.run(t.Context(), c.run)
	if d := stagetest.Next(t, r.drops); d.Reason != "decode" || len(d.Seqs) != 1 || d.Seqs[0] != 0 {
		t.Errorf("drop %+v", d)
	}
	f := stagetest.Next(t, r.frames)
	if f.Seq != 1 {
		t.Errorf("frame %d, want 1", f.Seq)
	}
	r.ack(f)
	r.mustEnd(ended)
	if s := c.ring; s != nil && s.Stats().Free != 4 {
		t.Errorf("ring %+v: the undecodable frame keeps its slot", s.Stats())
	}
}

// With pace "max" the source is asked for the next frame only while fewer than the window are under way.
func TestPaceMaxKeepsItsWindow(t *testing.T) {
	const frames = 40
	r := newRig(t)
	r.env.Config.Ring.Slots = 5
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	if c.window != 3 {
		t.Fatalf("window %d in a ring of 5 slots, want 3", c.window)
	}
	src := c.replace(t)
	most := 0
	src.onGrab = func() {
		n, _ := c.flight.expire(time.Now())
		most = max(most, n)
	}
	src.step(frames)
	src.steps <- io.EOF
	ended := r.run(t.Context(), c.run)
	var under []ipc.Frame
	for range frames {
		under = append(under, stagetest.Next(t, r.frames))
		if len(under) == 3 { // the oldest reaches its end: acknowledged, or dropped by somebody
			if under[0].Seq%2 == 0 {
				r.ack(under[0])
			} else {
				notify := ipc.Drop{Camera: "cam0", Stage: "detect", Reason: "overwritten", Seqs: []uint64{under[0].Seq}}
				r.Publish("cam0", ipc.KindDrops, &notify)
			}
			under = under[1:]
		}
	}
	for _, f := range under {
		r.ack(f)
	}
	r.mustEnd(ended)
	if most != 2 {
		t.Errorf("%d frames were under way when the source was asked for one more, want 2 at most and once", most)
	}
	if got := r.env.Telemetry.Snapshot().Cameras["cam0"]; got.Frames != frames || len(got.Dropped) != 0 {
		t.Errorf("telemetry %+v", got)
	}
}

func TestWindowFitsRingAndQueues(t *testing.T) {
	for _, c := range []struct{ slots, detect, landmarks, want int }{
		{8, 6, 6, 6}, {8, 20, 20, 6}, {32, 6, 4, 4}, {32, 3, 4, 3}, {2, 6, 6, 1},
	} {
		cfg := config.Default()
		cfg.Ring.Slots, cfg.Detect.MaxQueue, cfg.Landmarks.MaxQueue = c.slots, c.detect, c.landmarks
		if got := window(cfg); got != c.want {
			t.Errorf("window of %+v is %d", c, got)
		}
	}
}

func TestSourceWithoutFramesSaysSo(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,frames=0,size=160x120", "max"))
	r.mustEnd(r.run(t.Context(), c.run))
	if end := stagetest.Next(t, r.ends); end.Reason != ipc.EndWithoutFrames || end.Camera != "cam0" {
		t.Errorf("end %+v", end)
	}
}

func TestCorruptSourceEndsEarly(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.step(2)
	src.steps <- source.ErrCorrupt
	ended := r.run(t.Context(), c.run)
	r.ack(stagetest.Next(t, r.frames))
	r.ack(stagetest.Next(t, r.frames))
	if end := stagetest.Next(t, r.ends); end.LastSeq != 1 || end.Reason != "corrupt" {
		t.Errorf("end %+v", end)
	}
	r.mustEnd(ended)
}

func TestSourceThatFailsEndsTheStage(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	broken := errors.New("cable")
	src.steps <- broken
	if err := stagetest.Next(t, r.run(t.Context(), c.run)); !errors.Is(err, broken) || errors.Is(err, stage.ErrPermanent) {
		t.Errorf("run: %v", err)
	}
}

// A camera that comes back with another size gets a new ring; frames go on without a gap.
func TestNewGeometryMakesANewRing(t *testing.T) {
	r := newRig(t)
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "realtime"))
	src := c.replace(t)
	src.then = source.Info{Width: 320, Height: 240, Format: source.YUYV, FPS: 30}
	src.step(2)
	src.steps <- source.ErrGeometry
	src.step(2)
	src.steps <- io.EOF
	ended := r.run(t.Context(), c.run)
	var all []ipc.Frame
	for range 4 {
		f := stagetest.Next(t, r.frames)
		all = append(all, f)
		r.ack(f)
	}
	for i, f := range all {
		if f.Seq != uint64(i) {
			t.Errorf("frame %d has number %d", i, f.Seq)
		}
	}
	old, renewed := all[1], all[2]
	if old.Width != 160 || renewed.Width != 320 || renewed.Height != 240 || renewed.Format != "YUYV" {
		t.Errorf("geometry %d %q, then %d×%d %q", old.Width, old.Format, renewed.Width, renewed.Height, renewed.Format)
	}
	if old.Ring == renewed.Ring || !strings.HasPrefix(renewed.Ring, "lab/cam0/") {
		t.Errorf("ring %q after %q", renewed.Ring, old.Ring)
	}
	r.mustEnd(ended)
}

func TestSourcesThatCannotOpenArePermanent(t *testing.T) {
	r := newRig(t)
	for _, spec := range []string{filepath.Join(t.TempDir(), "none.y4m"), "synthetic:nonsense=1"} {
		if _, err := openCamera(t.Context(), r.env, r.gpus, drawn(spec, "max"), 0); !errors.Is(err, stage.ErrPermanent) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if err := permanentSource(source.ErrLost); errors.Is(err, stage.ErrPermanent) {
		t.Error("a lost camera is permanent")
	}
	c := r.camera(drawn("synthetic:faces=0,size=160x120", "max"))
	if _, err := openCamera(t.Context(), r.env, r.gpus, c.cfg, 0); !errors.Is(err, gpuring.ErrInUse) || !errors.Is(err, stage.ErrPermanent) {
		t.Errorf("a camera that is in use: %v", err)
	}
}

// A video file that stops long before its announced length ends, but not as one that is complete.
func TestEarlyEndIsTold(t *testing.T) {
	for position, want := range map[int64]string{65: "end of source", 60: "end of source", 25: "early end: 25 of about 66 frames"} {
		c := &camera{info: source.Info{Frames: 66}, position: position}
		if got := c.endOfSource(); got != want {
			t.Errorf("after %d of 66 frames: %q, want %q", position, got, want)
		}
	}
	endless := &camera{info: source.Info{Frames: -1}, position: 3}
	if got := endless.endOfSource(); got != "end of source" {
		t.Errorf("unknown length: %q", got)
	}
}
