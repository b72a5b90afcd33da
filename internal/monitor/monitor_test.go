package monitor

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"facetrack/internal/ledger"
	"facetrack/internal/recorder"
	"facetrack/internal/stage/stagetest"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

const ms = int64(time.Millisecond)

type rig struct{ *stagetest.Bus }

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{stagetest.NewBus(t)}
}

// listen starts a monitor on a connection of its own.
func (r *rig) listen(record *recorder.File, log *slog.Logger) *Monitor {
	r.T.Helper()
	m, err := Start(r.Connect().Conn, "lab", record, log)
	if err != nil {
		r.T.Fatal(err)
	}
	return m
}

// heard returns the books after everything sent has been read.
func (r *rig) heard(m *Monitor) map[string]ledger.Summary {
	r.T.Helper()
	if err := errors.Join(r.NC.Flush(), m.Close()); err != nil {
		r.T.Fatal(err)
	}
	return m.Ledger.Summaries()
}

// frame was captured at second 5, and each stage took a millisecond more than the one before.
func frame(camera string, seq uint64) ipc.Frame {
	at := 5e9 + int64(seq)*33*ms
	return ipc.Frame{
		Camera: camera, Seq: seq, CaptureNS: at, WallNS: 1, Ring: "lab/" + camera + "/1", Width: 640, Height: 480, Format: "BGR",
		Stamps: ipc.Stamps{Capture: at + ms, Detect: at + 3*ms, Landmarks: at + 6*ms, Tracks: at + 10*ms},
	}
}

// upTo sends the messages of a frame that came so far: 1 for its frame message, 4 for its tracks.
func (r *rig) upTo(progress int, f ipc.Frame, ids ...int) {
	r.T.Helper()
	tracks := ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{}}
	for _, id := range ids {
		tracks.Faces = append(tracks.Faces, ipc.TrackedFace{ID: id})
	}
	kinds := []ipc.Kind{ipc.KindFrame, ipc.KindDetections, ipc.KindLandmarks, ipc.KindTracks}
	for i, m := range []ipc.Message{&f, &ipc.Detections{Frame: f}, &ipc.Landmarks{Frame: f}, &tracks}[:progress] {
		r.Publish(f.Camera, kinds[i], m)
	}
}

func near(got, want float64) bool { return got > 0.99*want && got < 1.01*want }

func TestBooksOfAWholeRun(t *testing.T) {
	r := newRig(t)
	m := r.listen(nil, stagetest.Quiet)
	r.upTo(4, frame("a", 0), 1)
	r.upTo(4, frame("a", 1), 1, 2)
	r.upTo(2, frame("a", 2)) // landmarks has it
	r.upTo(1, frame("a", 3)) // detect gives it up
	r.Publish("a", ipc.KindDrops, &ipc.Drop{Camera: "a", Stage: "detect", Reason: "overwritten", Seqs: []uint64{3}})
	r.Publish("a", ipc.KindDrops, &ipc.Drop{Camera: "a", Stage: "capture", Reason: "no-free-slot", Seqs: []uint64{4, 5}})
	r.upTo(4, frame("a", 6))
	r.Publish("a", ipc.KindEnd, &ipc.End{Camera: "a", LastSeq: 7, Reason: "end of source"}) // nobody heard of 7
	r.upTo(4, frame("b", 40), 9)
	all := r.heard(m)

	a := all["a"]
	if a.Captured != 8 || a.Tracked != 3 || a.Open != 2 || a.End == "" || a.Faces != 3 {
		t.Errorf("a: %+v", a)
	}
	if want := map[string]uint64{"detect:overwritten": 1, "capture:no-free-slot": 2}; !reflect.DeepEqual(a.Dropped, want) {
		t.Errorf("dropped %v, want %v", a.Dropped, want)
	}
	if want := map[int]uint64{1: 2, 2: 1}; !reflect.DeepEqual(a.Identities, want) {
		t.Errorf("identities %v, want %v", a.Identities, want)
	}
	if l := a.LatencyMS.CaptureToTracks; !near(l.P50, 10) || !near(l.Max, 10) {
		t.Errorf("latency %+v, want 10 ms", l)
	}
	for stage, want := range map[string]float64{"capture": 1, "detect": 2, "landmarks": 3, "tracker": 4} {
		if got := a.StageMS[stage]; !near(got.Mean, want) {
			t.Errorf("%s took %+v, want %v ms", stage, got, want)
		}
	}
	if b := all["b"]; b.Captured != 1 || b.Tracked != 1 || b.End != "" || b.Identities[9] != 1 {
		t.Errorf("b: %+v", b)
	}
	if m.Ledger.AllEnded([]string{"a", "b"}) || !m.Ledger.AllEnded([]string{"a"}) {
		t.Error("a has ended and b has not")
	}
	m.Ledger.Close()
	want := map[string]uint64{"detect:overwritten": 1, "capture:no-free-slot": 2, "landmarks:lost": 1, "capture:lost": 1}
	if got := m.Ledger.Summaries()["a"].Dropped; !reflect.DeepEqual(got, want) {
		t.Errorf("written off: %v, want %v", got, want)
	}
}

func TestCameraWithoutFrames(t *testing.T) {
	r := newRig(t)
	m := r.listen(nil, stagetest.Quiet)
	r.Publish("a", ipc.KindEnd, &ipc.End{Camera: "a", Reason: ipc.EndWithoutFrames})
	if a := r.heard(m)["a"]; a.End == "" || a.Captured != 0 || a.Open != 0 {
		t.Errorf("%+v", a)
	}
}

func TestOtherTrafficIsNoNews(t *testing.T) {
	r := newRig(t)
	var log bytes.Buffer
	m := r.listen(nil, slog.New(slog.NewTextHandler(&log, nil)))
	garbage := []byte(`{"camera":"a","seq":1}`)
	for _, subject := range []string{
		"face.lab.a.frame", "face.lab.a.detections", "face.lab.a.landmarks", "face.lab.a.tracks", "face.lab.a.drops", "face.lab.a.end",
		"face.lab.a.ring", "face.lab.a.events", "face.lab.a.unknown", "face.lab.a.b.c", "face.other.a.frame",
	} {
		if err := r.NC.Publish(subject, garbage); err != nil {
			t.Fatal(err)
		}
	}
	f := frame("a", 1)
	if err := ipc.NewPublisher(r.NC.Conn).Publish("face.other.a.frame", &f); err != nil {
		t.Fatal(err)
	}
	if all := r.heard(m); len(all) != 0 {
		t.Errorf("books %+v", all)
	}
	if n := strings.Count(log.String(), "tracks message ignored"); n != 1 {
		t.Errorf("%d complaints about unreadable tracks:\n%s", n, log.String())
	}
}

// A recording holds the tracks alone, as they were sent.
func TestRecording(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	file, err := recorder.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	m := r.listen(file, stagetest.Quiet)
	var want []string
	for seq := range uint64(5) {
		f := frame("a", seq)
		r.upTo(3, f)
		tracks := ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{{ID: 1, Points: ipc.Points{{1, 2, 3}}}}}
		data, err := tracks.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(data))
		if err := r.NC.Publish("face.lab.a.tracks", append(data, '\n')); err != nil { // one line whatever the sender adds
			t.Fatal(err)
		}
	}
	if err := r.NC.Publish("face.lab.a.tracks", []byte("unreadable")); err != nil {
		t.Fatal(err)
	}
	r.heard(m)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", text, strings.Join(want, "\n"))
	}
	if lines, size := file.Lines(); lines != 5 || size != int64(len(text)) {
		t.Errorf("%d lines, %d bytes", lines, size)
	}
}

// limitFiles lets no file of this process grow beyond a size until the test ends: a disk that is full.
func limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	})
}

// A recording that has failed is told once and costs no frame in the books.
func TestFailedRecordingIsToldOnce(t *testing.T) {
	r := newRig(t)
	file, err := recorder.Create(filepath.Join(t.TempDir(), "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	limitFiles(t, 4096)
	var log bytes.Buffer
	m := r.listen(file, slog.New(slog.NewTextHandler(&log, nil)))
	large := ipc.TrackedFace{ID: 1, Points: make(ipc.Points, ipc.MaxPoints)}
	for seq := range uint64(3) {
		tracks := ipc.Tracks{Frame: frame("a", seq)}
		for range 48 { // more than the recorder gathers
			tracks.Faces = append(tracks.Faces, large)
		}
		r.Publish("a", ipc.KindTracks, &tracks)
	}
	if a := r.heard(m)["a"]; a.Tracked != 3 || a.Faces != 3*48 {
		t.Errorf("%+v", a)
	}
	if err := file.Close(); !errors.Is(err, recorder.ErrStopped) {
		t.Fatalf("the recording: %v", err)
	}
	if n := strings.Count(log.String(), "the run goes on"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, log.String())
	}
}

func TestCloseOfADeadConnection(t *testing.T) {
	r := newRig(t)
	nc := r.Connect()
	m, err := Start(nc.Conn, "lab", nil, stagetest.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.Close()
	if err := m.Close(); !errors.Is(err, ErrBusGone) {
		t.Errorf("close: %v", err)
	}
	if _, err := Start(nc.Conn, "lab", nil, stagetest.Quiet); err == nil {
		t.Error("a monitor on a closed connection")
	}
}

func (r *rig) serve(stage, camera string) {
	r.T.Helper()
	rec := telemetry.New(stage)
	rec.Frame(camera, 1, time.Millisecond, time.Millisecond)
	nc := r.Connect()
	if _, err := telemetry.Serve(nc.Conn, "lab", rec); err != nil {
		r.T.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		r.T.Fatal(err)
	}
}

// Nobody is waited for who is not there: the server says so at once.
func TestStatusGathersWhoIsThere(t *testing.T) {
	r := newRig(t)
	stages := []string{"capture", "detect", "landmarks", "tracker"}
	if all, err := Status(r.NC.Conn, "lab", stages, stagetest.Deadline); err != nil || len(all) != 0 {
		t.Errorf("an empty rig: %+v, %v", all, err)
	}
	r.serve("detect", "cam0")
	r.serve("tracker", "cam1")
	all, err := Status(r.NC.Conn, "lab", stages, stagetest.Deadline)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	slices.SortFunc(all, func(a, b telemetry.Stats) int { return strings.Compare(a.Stage, b.Stage) })
	if all[0].Stage != "detect" || all[0].Cameras["cam0"].Frames != 1 || all[1].Stage != "tracker" || all[1].Cameras["cam1"].Faces != 1 {
		t.Errorf("%+v", all)
	}
	if all, err := Status(r.NC.Conn, "other", stages, stagetest.Deadline); err != nil || len(all) != 0 {
		t.Errorf("another rig: %+v, %v", all, err)
	}
}

// Where a stage has several processes, those that are slower than the first count too.
func TestStatusOfSeveralProcessesOfAStage(t *testing.T) {
	r := newRig(t)
	r.serve("detect", "cam0")
	slow := r.Connect()
	_, err := slow.Subscribe(telemetry.StatusSubject("lab", "detect"), func(m *nats.Msg) {
		time.AfterFunc(straggle/5, func() { _ = m.Respond([]byte(`{"stage":"detect","cameras":{"cam1":{"frames":7}}}`)) })
	})
	if err := errors.Join(err, slow.Flush()); err != nil {
		t.Fatal(err)
	}
	all, err := Status(r.NC.Conn, "lab", []string{"detect", "tracker"}, stagetest.Deadline)
	if err != nil || len(all) != 2 || all[1].Cameras["cam1"].Frames != 7 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestStatusOfAStageThatIsSilent(t *testing.T) {
	r := newRig(t)
	r.serve("detect", "cam0")
	mute := r.Connect()
	if _, err := mute.Subscribe(telemetry.StatusSubject("lab", "tracker"), func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	if err := mute.Flush(); err != nil {
		t.Fatal(err)
	}
	all, err := Status(r.NC.Conn, "lab", []string{"detect", "tracker"}, 500*time.Millisecond)
	if err != nil || len(all) > 1 || len(all) == 1 && all[0].Stage != "detect" { // none only on a machine that stands still
		t.Errorf("%+v, %v", all, err)
	}
}

func TestStatusOfAStageThatTalksNonsense(t *testing.T) {
	r := newRig(t)
	if _, err := r.NC.Subscribe(telemetry.StatusSubject("lab", "detect"), func(m *nats.Msg) { _ = m.Respond([]byte("?")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := Status(r.NC.Conn, "lab", []string{"detect"}, stagetest.Deadline); err == nil {
		t.Error("nonsense was taken for a status")
	}
	_ = r.NC.Close()
	if _, err := Status(r.NC.Conn, "lab", []string{"detect"}, stagetest.Deadline); err == nil {
		t.Error("a status over a closed connection")
	}
}

// What a server sends out of a stream, with an address for its acknowledgement, has happened before.
func TestStoredMessagesAreNoNews(t *testing.T) {
	r := newRig(t)
	m := r.listen(nil, stagetest.Quiet)
	f := frame("cam", 7)
	tracks := ipc.Tracks{Frame: f, Faces: []ipc.TrackedFace{}}
	data, err := tracks.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.NC.PublishRequest(ipc.Subject("lab", "cam", ipc.KindTracks), "$JS.ACK.facetrack-results_lab.x.1.2.1.3.0", data); err != nil {
		t.Fatal(err)
	}
	r.upTo(4, frame("cam", 8), 1)
	if c := r.heard(m)["cam"]; c.Tracked != 1 || c.Captured != 1 {
		t.Errorf("%+v", c)
	}
}
