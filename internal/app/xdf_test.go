package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/xdf"
	"facetrack/xdf/xdftest"
)

const family = `
rig: lab
cameras: [{name: cam, source: "synthetic:faces=2", latency_ms: 20}]
participants:
  - {name: mother, area: [0, 0, 0.5, 1]}
  - {name: child, area: [0.5, 0, 1, 1]}
synchrony: {channels: [jawOpen]}
`

// runningRig is a bus with the capture stage of a camera.
type runningRig struct {
	t   *testing.T
	bus *server.Server
	nc  *ipc.Conn
	out *ipc.Publisher
}

func newRunningRig(t *testing.T) *runningRig {
	t.Helper()
	s := startNATS(t)
	nc := connect(t, s)
	capture := telemetry.New(stage.Capture)
	capture.State("cam", "running")
	service, err := telemetry.Serve(nc.Conn, "lab", capture)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Stop() })
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return &runningRig{t, s, nc, ipc.NewPublisher(nc.Conn)}
}

// store is what `up` does with the configuration.
func (r *runningRig) store(cfg config.Config) {
	r.t.Helper()
	settings, err := openSettings(r.t.Context(), r.nc.Conn, cfg.Rig, "")
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := storeConfig(r.t.Context(), settings, cfg, "test"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runningRig) send(subject string, m ipc.Message) {
	r.t.Helper()
	if err := errors.Join(r.out.Publish(subject, m), r.nc.Flush()); err != nil {
		r.t.Fatal(err)
	}
}

// followed waits until somebody listens to a subject.
func (r *runningRig) followed(subject string) {
	r.t.Helper()
	eventually(r.t, "somebody listens to "+subject, func() bool {
		subs, err := r.bus.Subsz(&server.SubszOptions{Subscriptions: true, Test: subject})
		return err == nil && len(subs.Subs) > 0
	})
}

// familyTracks is a frame with the mother and, in odd frames, the child.
func familyTracks(seq uint64) *ipc.Tracks {
	m := &ipc.Tracks{Frame: ipc.Frame{Camera: "cam", Seq: seq, CaptureNS: 100e9 + int64(seq)*1e8, Ring: "r", Width: 640, Height: 480, Format: "BGR"}}
	for id, name := range []string{"mother", "child"}[:1+seq%2] {
		f := ipc.TrackedFace{ID: id + 1, Score: 0.75, Participant: name, Points: make(ipc.Points, 478)}
		for i := range 52 {
			f.Blendshapes = append(f.Blendshapes, float64(seq)/1000+float64(i)/100)
		}
		m.Faces = append(m.Faces, f)
	}
	return m
}

func familyConfig(t *testing.T) config.Config {
	t.Helper()
	cfg, err := config.Parse("f.yaml", []byte(family))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// streamNamed is a stream of a recording by the end of its name.
func streamNamed(t *testing.T, r *xdftest.Recording, name string) *xdftest.Stream {
	t.Helper()
	i := slices.IndexFunc(r.Streams, func(s *xdftest.Stream) bool { return s.Header.Name == "facetrack lab "+name })
	if i < 0 {
		t.Fatalf("no stream %q", name)
	}
	return r.Streams[i]
}

func readXDF(t *testing.T, path string) *xdftest.Recording {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // the test's own file
	if err != nil {
		t.Fatal(err)
	}
	return xdftest.MustParse(t, data)
}

// record runs the command until do returns; without it, until the command gives up.
func (r *runningRig) record(cmd *RecordCmd, do func()) (stdout, stderr string, err error) {
	r.t.Helper()
	cmd.BusFlags = BusFlags{NATS: r.bus.ClientURL(), Rig: "lab"}
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	stdout, stderr = printed(r.t, func() {
		ended := make(chan error, 1)
		go func() { ended <- cmd.Run(ctx) }()
		if do != nil {
			do()
			cancel()
		}
		err = <-ended
	})
	return stdout, stderr, err
}

// The streams of a running rig in XDF: each row is what the tracks say, at the instant when the picture was taken.
func TestRecordXDF(t *testing.T) {
	for name, stored := range map[string]bool{"configuration of the rig": true, "configuration of a file": false} {
		t.Run(name, func(t *testing.T) {
			r := newRunningRig(t)
			dir := t.TempDir()
			cmd := &RecordCmd{File: filepath.Join(dir, "a.jsonl"), XDF: filepath.Join(dir, "a.xdf")}
			if stored {
				r.store(familyConfig(t))
			} else {
				cmd.Config = write(t, "f.yaml", strings.Replace(family, "rig: lab", "rig: other", 1))
			}
			stdout, _, err := r.record(cmd, func() {
				r.followed("face.lab.cam.drops") // the monitor listens last
				for seq := range uint64(4) {
					r.send("face.lab.cam.tracks", familyTracks(seq))
				}
				r.send("face.lab.cam.events", &ipc.Event{Camera: "cam", Stage: "detect", Event: ipc.EventTransport, Value: "shm", Reason: "no GPU", TimeNS: 99e9})
				series := []ipc.SynchronySeries{{Channel: "jawOpen", Value: ipc.SynchronyLagged{R: 0.5}}, {Channel: ipc.SynchronyMean}}
				r.send(ipc.SynchronySubject("lab", "mother", "child"), &ipc.Synchrony{A: "mother", B: "child", CaptureNS: 101e9, Series: series})
			})
			if err != nil {
				t.Fatal(err)
			}
			got := readXDF(t, cmd.XDF)
			for _, who := range []string{"mother", "child"} {
				checkExpression(t, streamNamed(t, got, who+" expression"), who)
			}
			total := 0
			for _, s := range got.Streams {
				total += len(s.Samples)
				if s.Footer == nil || len(s.Samples) == 0 || len(s.Offsets) == 0 || s.Offsets[0].Offset != 0 {
					t.Errorf("%s: %d samples, offsets %v, footer %v", s.Header.Name, len(s.Samples), s.Offsets, s.Footer)
				}
			}
			events := ""
			for _, m := range streamNamed(t, got, "events").Samples {
				events += m.Values
			}
			if strings.Count(events, "participant_appears") != 2 || strings.Count(events, "transport") != 2 {
				t.Errorf("events %s", events)
			}
			s := streamNamed(t, got, "mother child synchrony")
			if len(s.Samples) != 1 || s.Samples[0].Stamp != 101 || !strings.HasPrefix(s.Samples[0].Values, "0.5 ") || s.Header.Labels[0] != "jawOpenR" {
				t.Errorf("synchrony %+v of %v", s.Samples, s.Header.Labels)
			}
			if text, err := os.ReadFile(cmd.File); err != nil || strings.Count(string(text), "\n") != 4 {
				t.Errorf("recorded %q, %v", text, err)
			}
			if want := fmt.Sprintf("recorded %d samples in %s", total, cmd.XDF); !strings.Contains(stdout, want) || !strings.Contains(stdout, "recorded 4 frames") {
				t.Errorf("printed %q, want %q", stdout, want)
			}
		})
	}
}

func checkExpression(t *testing.T, s *xdftest.Stream, who string) {
	t.Helper()
	if s.Header.Count != 54 || s.Header.Rate != 0 || s.Header.Type != "FaceExpression" || len(s.Samples) != 4 {
		t.Fatalf("%s: %+v with %d rows", who, s.Header, len(s.Samples))
	}
	for seq, row := range s.Samples {
		m := familyTracks(uint64(seq))
		values := strings.Fields(row.Values)
		i := slices.IndexFunc(m.Faces, func(f ipc.TrackedFace) bool { return f.Participant == who })
		first, confidence := "NaN", "0"
		if i >= 0 {
			first, confidence = fmt.Sprint(float32(m.Faces[i].Blendshapes[10])), "0.75"
		}
		if row.Stamp != lsl.Seconds(m.CaptureNS-20e6) || values[10] != first || values[52] != confidence || values[53] != strconv.Itoa(seq) {
			t.Errorf("%s, frame %d: %v at %v", who, seq, values, row.Stamp)
		}
	}
}

func TestRecordXDFThatCannotBegin(t *testing.T) {
	r := newRunningRig(t)
	dir := t.TempDir()
	there := write(t, "there.xdf", "of yesterday")
	fails := func(cmd *RecordCmd, want ...string) {
		t.Helper()
		_, stderr, err := r.record(cmd, nil)
		if err == nil || stderr != "" {
			t.Fatalf("%v, said %q", err, stderr)
		}
		for _, w := range want {
			if strings.Count(err.Error(), w) != 1 {
				t.Errorf("%q is not once in: %v", w, err)
			}
		}
	}
	fails(&RecordCmd{XDF: filepath.Join(dir, "a.xdf")}, "no configuration is stored", "--config")
	r.store(familyConfig(t))
	fails(&RecordCmd{XDF: there}, there, "exists and is left alone")
	if text, err := os.ReadFile(there); err != nil || string(text) != "of yesterday" { //nolint:gosec // the test's own file
		t.Errorf("%q, %v", text, err)
	}
	fails(&RecordCmd{XDF: filepath.Join(dir, "b.xdf"), File: there}, there, "exists and is left alone")
	fails(&RecordCmd{XDF: filepath.Join(dir, "none", "a.xdf")}, "recording cannot be made", "no such file")
	fails(&RecordCmd{XDF: filepath.Join(dir, "c.xdf"), Config: filepath.Join(dir, "none.yaml")}, "none.yaml")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRecordNeedsDifferentFiles(t *testing.T) {
	for want, args := range map[string][]string{
		"name a new FILE.jsonl, or --xdf": {"record"},
		"choose two names":                {"record", "/tmp/a", "--xdf", "/tmp/a"},
		"must not be negative":            {"record", "/tmp/a", "--duration=-1s"},
	} {
		if code, stdout, stderr := run(t, args...); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	code, _, stderr := run(t, "up", "--source", "synthetic:faces=1", "--record", "/tmp/a", "--xdf", "/tmp/a")
	if code != 1 {
		t.Errorf("status %d", code)
	}
	expectLine(t, stderr, "--record and --xdf name the same file")
}

// fullDisk takes so many bytes, whole chunks only, and no more.
type fullDisk struct {
	bytes.Buffer
	left int
}

var errDiskFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errDiskFull
	}
	return d.Buffer.Write(p)
}

// A disk that is full ends the recording, not the run, wherever it comes; it is told once, and what was recorded is good.
func TestXDFOnAFullDisk(t *testing.T) {
	for _, size := range []int{200, 2_000, 12_000, 30_000, 60_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			s := startNATS(t)
			nc := connect(t, s)
			r := &runningRig{t, s, nc, ipc.NewPublisher(nc.Conn)}
			disk, log := &fullDisk{left: size}, &strings.Builder{}
			w, err := xdf.NewWriter(disk, xdf.Options{ChunkSamples: 7})
			if err != nil {
				t.Fatal(err)
			}
			f := &xdfFile{path: "a.xdf", writer: w, log: slog.New(slog.NewTextHandler(log, nil))}
			if err := f.follow(connect(t, s).Conn, familyConfig(t)); err != nil {
				t.Fatal(err)
			}
			r.followed("face.lab.synchrony.mother.child")
			for seq := range uint64(100) {
				r.send("face.lab.cam.tracks", familyTracks(seq))
			}
			r.send("face.lab.cam.end", &ipc.End{Camera: "cam", LastSeq: 99, Reason: ipc.EndOfSource})
			if err := f.Close(); !errors.Is(err, xdf.ErrStopped) || !errors.Is(f.Err(), errDiskFull) {
				t.Errorf("close: %v, error %v", err, f.Err())
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "goes on without recording") {
				t.Errorf("told %d times:\n%s", n, log)
			}
			rows := uint64(0)
			for _, s := range xdftest.MustParse(t, disk.Bytes()).Streams {
				rows += uint64(len(s.Samples))
			}
			if rows != f.writer.Samples() {
				t.Errorf("%d rows on the disk, %d counted", rows, f.writer.Samples())
			}
		})
	}
}

// The whole rig in one process with --xdf; and one that never starts, which leaves no file.
func TestUpXDF(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	up := []string{"up", "--threads", "--config", drawnFaces(t), "--listen", "127.0.0.1:-1", "--data-dir", dir, "--pace", "max"}
	code, stdout, stderr := run(t, append(up, "--source", "synthetic:faces=1,frames=40", "--xdf", path("a.xdf"), "--summary", path("s.json"))...)
	if code != 0 {
		t.Fatalf("status %d: %s", code, stderr)
	}
	var s Summary
	data, err := os.ReadFile(path("s.json"))
	if err != nil || json.Unmarshal(data, &s) != nil || s.XDF == nil {
		t.Fatalf("%v, summary %s", err, data)
	}
	rows := uint64(0)
	for _, stream := range readXDF(t, path("a.xdf")).Streams {
		rows += uint64(len(stream.Samples))
		if strings.HasSuffix(stream.Header.Name, "cam0 face 1 expression") && len(stream.Samples) != 40 {
			t.Errorf("%d rows of 40 frames", len(stream.Samples))
		}
	}
	if s.XDF.File != path("a.xdf") || s.XDF.Samples != rows || rows < 3*40 || s.XDF.Error != "" {
		t.Errorf("summary %+v, %d rows in the file", s.XDF, rows)
	}
	if !strings.Contains(stdout, fmt.Sprintf("recorded %d samples in %s", rows, path("a.xdf"))) {
		t.Errorf("printed %q", stdout)
	}
	before, err := os.ReadFile(path("a.xdf"))
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr = run(t, append(up, "--source", "synthetic:faces=1,frames=1", "--xdf", path("a.xdf"), "--record", path("a.jsonl"))...)
	if after, err := os.ReadFile(path("a.xdf")); code != 1 || err != nil || !bytes.Equal(before, after) {
		t.Errorf("status %d, %v: the recording is another one", code, err)
	}
	expectLine(t, stderr, "a.xdf exists and is left alone")
	if code, _, _ = run(t, append(up, "--source", "synthetic:nonsense=1", "--log-level", "error", "--xdf", path("b.xdf"))...); code != 1 {
		t.Errorf("status %d", code)
	}
	for _, name := range []string{"a.jsonl", "b.xdf"} {
		if _, err := os.Stat(path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
}
