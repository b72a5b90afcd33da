package telemetry

import (
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"facetrack/ipc"
)

const deadline = 60 * time.Second

// busy is a recorder with known numbers.
func busy() *Recorder {
	r := New("detect")
	r.Backend("cpu", "no GPU here")
	r.Model("facetrack-detector", "nothing else is here")
	for i := range 100 {
		r.Frame("cam0", i%2, 2*time.Millisecond, 10*time.Millisecond)
	}
	r.Cameras([]string{"cam0", "cam1"})
	r.Drop("cam0", "overwritten")
	r.Drop("cam0", "overwritten")
	r.Drop("cam0", "queue-full")
	r.State("cam1", "running")
	r.SetLink("cam0", func() Link {
		return Link{Transport: "shm", Reason: "no GPU", Attempts: []Attempt{{"cuda-ipc", "no GPU"}}, Reattach: 3}
	})
	r.SetRing("cam1", func() any { return map[string]int{"slots": 8} })
	return r
}

func TestSnapshot(t *testing.T) {
	s := busy().Snapshot()
	if s.Stage != "detect" || s.PID != os.Getpid() || s.Backend != "cpu" || s.Because != "no GPU here" || s.Model != "facetrack-detector" || s.Chosen != "nothing else is here" || s.UptimeS < 0 || len(s.Cameras) != 2 {
		t.Fatalf("snapshot %+v", s)
	}
	c := s.Cameras["cam0"]
	if c.Frames != 100 || c.Faces != 50 || !reflect.DeepEqual(c.Dropped, map[string]uint64{"overwritten": 2, "queue-full": 1}) {
		t.Errorf("cam0: %+v", c)
	}
	for _, p := range []struct{ got, want float64 }{{c.WorkMS.P50, 2}, {c.WorkMS.Mean, 2}, {c.WorkMS.Max, 2}, {c.AgeMS.P99, 10}, {c.Recent.P99, 10}} {
		if p.got < 0.99*p.want || p.got > 1.01*p.want {
			t.Errorf("work %+v, age %+v", c.WorkMS, c.AgeMS)
		}
	}
	if c.Link == nil || c.Link.Transport != "shm" || c.Ring != nil || c.State != "" {
		t.Errorf("cam0: %+v", c)
	}
	if c := s.Cameras["cam1"]; c.State != "running" || c.Link != nil || c.Frames != 0 || c.Dropped == nil {
		t.Errorf("cam1: %+v", c)
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	r := busy()
	before := r.Snapshot()
	r.Drop("cam0", "overwritten")
	r.Drop("cam2", "overwritten")
	before.Cameras["cam0"].Dropped["forged"] = 1
	if before.Cameras["cam0"].Dropped["overwritten"] != 2 || len(before.Cameras) != 2 {
		t.Error("a snapshot changes afterwards")
	}
	if after := r.Snapshot().Cameras["cam0"].Dropped; after["overwritten"] != 3 || after["forged"] != 0 {
		t.Errorf("dropped %v", after)
	}
}

// The names are an interface: tools read them with nats and jq.
func TestSnapshotAsJSON(t *testing.T) {
	data, err := json.Marshal(busy().Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	checkJSON(t, data)
}

func checkJSON(t *testing.T, data []byte) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	cameras, _ := got["cameras"].(map[string]any)
	cam0, _ := cameras["cam0"].(map[string]any)
	cam1, _ := cameras["cam1"].(map[string]any)
	if got["stage"] != "detect" || got["backend"] != "cpu" || got["pid"] != float64(os.Getpid()) || got["uptime_s"] == nil || cam0 == nil || cam1 == nil {
		t.Fatalf("%s", data)
	}
	link := map[string]any{
		"transport": "shm", "reason": "no GPU", "reattaches": 3.0,
		"attempts": []any{map[string]any{"transport": "cuda-ipc", "reason": "no GPU"}},
	}
	if cam0["frames"] != 100.0 || cam0["faces"] != 50.0 || !reflect.DeepEqual(cam0["link"], link) ||
		!reflect.DeepEqual(cam0["dropped"], map[string]any{"overwritten": 2.0, "queue-full": 1.0}) {
		t.Errorf("cam0: %v", cam0)
	}
	work, _ := cam0["work_ms"].(map[string]any)
	for _, key := range []string{"mean", "p50", "p95", "p99", "max"} {
		if v, ok := work[key].(float64); !ok || v <= 0 {
			t.Errorf("work_ms.%s is %v", key, work[key])
		}
	}
	if cam1["state"] != "running" || !reflect.DeepEqual(cam1["ring"], map[string]any{"slots": 8.0}) || cam1["link"] != nil {
		t.Errorf("cam1: %v", cam1)
	}
}

func TestDeviceLinkAsJSON(t *testing.T) {
	r := New("detect")
	r.SetLink("cam", func() Link { return Link{Transport: "cuda-ipc", Reason: "proved", Sync: "events", GPU: "GPU-1"} })
	data, err := json.Marshal(r.Snapshot().Cameras["cam"].Link)
	if want := `{"transport":"cuda-ipc","reason":"proved","sync":"events","gpu_uuid":"GPU-1","reattaches":0}`; err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}

func TestManyWriters(t *testing.T) {
	r := New("detect")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 250 {
				r.Frame("cam", 2, time.Millisecond, time.Millisecond)
				r.Drop("cam", "x")
				r.State("cam", "running")
				_ = r.Snapshot()
			}
		})
	}
	wg.Wait()
	if c := r.Snapshot().Cameras["cam"]; c.Frames != 1000 || c.Faces != 2000 || c.Dropped["x"] != 1000 {
		t.Errorf("%+v", c)
	}
}

func connect(t *testing.T) *ipc.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(deadline) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	nc, err := ipc.Connect(s.ClientURL(), t.Name(), slog.New(slog.DiscardHandler), nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func ask(t *testing.T, nc *ipc.Conn, subject string, into any) []byte {
	t.Helper()
	msg, err := nc.Request(subject, nil, deadline)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(msg.Data, into); err != nil {
		t.Fatalf("%s: %v: %s", subject, err, msg.Data)
	}
	return msg.Data
}

// What `nats micro info` and `nats micro stats` show.
func TestServiceShowsTheNumbers(t *testing.T) {
	nc := connect(t)
	svc, err := Serve(nc.Conn, "lab", busy())
	if err != nil {
		t.Fatal(err)
	}
	var info micro.Info
	ask(t, nc, "$SRV.INFO.facetrack-detect", &info)
	if info.Name != "facetrack-detect" || info.Version == "" || info.Metadata["rig"] != "lab" ||
		info.Metadata["stage"] != "detect" || info.Metadata["cameras"] != "cam0 cam1" || info.Metadata["commit"] == "" ||
		info.Metadata["model"] != "facetrack-detector" || info.Metadata["model_reason"] != "nothing else is here" ||
		info.Metadata["pid"] != strconv.Itoa(os.Getpid()) || len(info.Endpoints) != 1 || info.Endpoints[0].Subject != "facetrack.lab.status.detect" {
		t.Errorf("info %+v", info)
	}
	var stats micro.Stats
	ask(t, nc, "$SRV.STATS.facetrack-detect", &stats)
	if len(stats.Endpoints) != 1 {
		t.Fatalf("stats %+v", stats)
	}
	checkJSON(t, stats.Endpoints[0].Data)
	var direct Stats
	checkJSON(t, ask(t, nc, StatusSubject("lab", "detect"), &direct))
	if err := svc.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request(StatusSubject("lab", "detect"), nil, deadline); err == nil {
		t.Error("a stopped service answers")
	}
}

// Two processes of one stage both answer the operator.
func TestEveryProcessOfAStageAnswers(t *testing.T) {
	nc := connect(t)
	for _, backend := range []string{"cpu", "reference"} {
		r := New("detect")
		r.Backend(backend, "")
		if _, err := Serve(nc.Conn, "lab", r); err != nil {
			t.Fatal(err)
		}
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest(StatusSubject("lab", "detect"), inbox, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		msg, err := sub.NextMsg(deadline)
		if err != nil {
			t.Fatal(err)
		}
		var s Stats
		if err := json.Unmarshal(msg.Data, &s); err != nil {
			t.Fatal(err)
		}
		seen[s.Backend] = true
	}
	if len(seen) != 2 {
		t.Errorf("answers from %v", seen)
	}
}

func TestServiceNeedsAConnection(t *testing.T) {
	nc := connect(t)
	_ = nc.Close()
	if _, err := Serve(nc.Conn, "lab", New("detect")); err == nil {
		t.Error("a service on a closed connection")
	}
	nc = connect(t)
	if _, err := Serve(nc.Conn, "la b", New("detect")); err == nil {
		t.Error("a subject with a blank")
	}
}

// Whoever asks for statistics holds up no frame, however long the answers take.
func TestStatisticsHoldNobodyUp(t *testing.T) {
	r := busy()
	asked, answer, done := make(chan struct{}), make(chan struct{}), make(chan Stats)
	r.SetRing("cam0", func() any {
		close(asked)
		<-answer
		return nil
	})
	go func() { done <- r.Snapshot() }()
	<-asked
	before := uint64(100)
	r.Frame("cam0", 1, time.Millisecond, time.Millisecond)
	r.Frame("cam2", 1, time.Millisecond, time.Millisecond)
	close(answer)
	if got := (<-done).Cameras["cam0"].Frames; got != before {
		t.Errorf("%d frames, %d when the statistics were asked for", got, before)
	}
}

// BenchmarkSnapshot is what a process pays each time somebody asks a rig of 128 cameras for its statistics.
func BenchmarkSnapshot(b *testing.B) {
	r := New("landmarks")
	for camera := range 128 {
		for i := range 3000 {
			r.Frame(strconv.Itoa(camera), 1, time.Duration(1000+i)*time.Microsecond, time.Duration(3000+11*i)*time.Microsecond)
		}
	}
	for b.Loop() {
		r.Snapshot()
	}
}
