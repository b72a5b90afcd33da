package auth

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/store"
	"facetrack/ipc"
)

// Stored results: up makes the stream and says which sessions are in it, readers read both, nobody else does anything.
func TestStoredResultsOfRoles(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	up := as(t, s, dir, Up)
	owner, err := jetstream.New(up.Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Store.Enabled, cfg.Store.MaxGB = true, 0.01
	for range 2 { // the second finds the end of the first
		keeper, err := store.Begin(ctx, owner, cfg, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keeper.Check(ctx); err != nil {
			t.Error(err)
		}
		landmarks := as(t, s, dir, Landmarks)
		m := ipc.Landmarks{Topology: "t", Frame: ipc.Frame{Camera: "cam0", Ring: "r", Width: 1, Height: 1, Format: "BGR"}}
		if err := ipc.NewPublisher(landmarks.Conn.Conn).Publish(ipc.Subject("lab", "cam0", ipc.KindLandmarks), &m); err != nil {
			t.Fatal(err)
		}
		if refused := landmarks.sees(); len(refused) > 0 {
			t.Fatal(refused)
		}
	}
	if refused := up.sees(); len(refused) > 0 {
		t.Errorf("up: %s", refused)
	}
	reader := as(t, s, dir, Reader)
	js, err := jetstream.New(reader.Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	results, err := store.Find(ctx, js, "lab")
	if err != nil {
		t.Fatal(err)
	}
	all, err := results.Sessions(ctx)
	if err != nil || len(all) != 2 || all[0].End.Cameras["cam0"].Frames != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	read := 0
	if err := results.Read(ctx, all[0], []string{"landmarks"}, func(store.Message) error { read++; return nil }); err != nil || read != 1 {
		t.Errorf("%d messages, %v", read, err)
	}
	if refused := reader.sees(); len(refused) > 0 {
		t.Errorf("reader: %s", refused)
	}
	for _, role := range Roles {
		c := as(t, s, dir, role)
		for subject, want := range map[string]bool{
			"$JS.API.STREAM.INFO.facetrack-results_lab":                         role == Up || role == Reader,
			"$JS.API.STREAM.CREATE.facetrack-results_lab":                       role == Up,
			"$JS.API.STREAM.UPDATE.facetrack-results_lab":                       role == Up,
			"$JS.API.CONSUMER.CREATE.facetrack-results_lab.x.face.lab.*.tracks": role == Up || role == Reader,
			"$JS.API.CONSUMER.DURABLE.CREATE.facetrack-results_lab.x":           false,
			"$JS.API.STREAM.MSG.DELETE.facetrack-results_lab":                   false,
			"$JS.API.DIRECT.GET.facetrack-results_lab":                          false,
			"$KV.facetrack-sessions_lab.x":                                      role == Up,
			"$JS.API.STREAM.DELETE.KV_facetrack-sessions_lab":                   false,
			"face.lab.session.x.begin":                                          role == Up,
			"$JS.API.STREAM.INFO.facetrack-results_other":                       false,
		} {
			if got := c.mayPublish(subject); got != want {
				t.Errorf("%s: publish %s: %v, want %v", role, subject, got, want)
			}
		}
		if role != Up {
			for _, verb := range []string{"PURGE", "DELETE"} {
				if c.mayPublish("$JS.API.STREAM." + verb + ".facetrack-results_lab") {
					t.Errorf("%s: %s", role, verb)
				}
			}
		}
	}
}

// The server sends stored messages to whatever subject a reader names, whom it would let say nothing there: stages do not take them for news.
func TestStoredResultsAreNotSaidAgain(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	owner, err := jetstream.New(as(t, s, dir, Up).Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Store.Enabled, cfg.Store.MaxGB = true, 0.01
	if _, err := store.Begin(ctx, owner, cfg, time.Now()); err != nil {
		t.Fatal(err)
	}
	subject := ipc.Subject("lab", "cam0", ipc.KindLandmarks)
	tracker := as(t, s, dir, Tracker)
	env := stage.Env{Config: cfg, Bus: tracker.Conn.Conn}
	heard := make(chan string, 8)
	if _, err := env.Subscribe(ipc.KindLandmarks, func(data []byte) { heard <- string(data) }); err != nil {
		t.Fatal(err)
	}
	plain, err := tracker.SubscribeSync(ipc.AllCameras("lab", ipc.KindLandmarks))
	if err != nil {
		t.Fatal(err)
	}
	if err := tracker.Flush(); err != nil {
		t.Fatal(err)
	}
	landmarks := as(t, s, dir, Landmarks)
	if err := landmarks.Publish(subject, []byte("first")); err != nil {
		t.Fatal(err)
	}
	reader := as(t, s, dir, Reader)
	js, err := jetstream.New(reader.Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, ipc.ResultsStream("lab"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, FilterSubject: subject})
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+ipc.ResultsStream("lab")+"."+c.CachedInfo().Name, subject, []byte("1")); err != nil {
		t.Fatal(err)
	}
	next := func() *nats.Msg {
		t.Helper()
		m, err := plain.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := next(); ipc.FromStream(m) {
		t.Errorf("news with reply %q", m.Reply)
	}
	if m := next(); string(m.Data) != "first" || !ipc.FromStream(m) {
		t.Fatalf("%q with reply %q: this server keeps readers from it", m.Data, m.Reply)
	}
	if err := landmarks.Publish(subject, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if a, b := <-heard, <-heard; a != "first" || b != "second" {
		t.Errorf("the stage heard %q and %q", a, b)
	}
}

// Nor for what a role has written into a bucket itself and has the server send, as the answer to a request for it, to a subject on which it may say nothing.
func TestAnswersOfTheServerAreNoNews(t *testing.T) {
	dir := mustInit(t, time.Now())
	s := serve(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(as(t, s, dir, Up).Conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ipc.OpenBucket(ctx, js, "lab"); err != nil {
		t.Fatal(err)
	}
	listener := as(t, s, dir, LSLOut)
	env := stage.Env{Config: config.Default(), Bus: listener.Conn.Conn}
	heard := make(chan string, 8)
	if _, err := env.Subscribe(ipc.KindTracks, func(data []byte) { heard <- string(data) }); err != nil {
		t.Fatal(err)
	}
	plain, err := listener.SubscribeSync(ipc.AllCameras("lab", ipc.KindTracks))
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Flush(); err != nil {
		t.Fatal(err)
	}
	key, subject := "$KV."+ipc.BucketName("lab")+".ring.cam0", ipc.Subject("lab", "cam0", ipc.KindTracks)
	capture := as(t, s, dir, Capture)
	if _, err := capture.Request(key, []byte("forged"), patience); err != nil {
		t.Fatal(err)
	}
	if err := capture.PublishRequest("$JS.API.DIRECT.GET.KV_"+ipc.BucketName("lab")+"."+key, subject, nil); err != nil {
		t.Fatal(err)
	}
	m, err := plain.NextMsg(patience)
	if err != nil {
		t.Fatalf("this server keeps roles from it: %v", err)
	}
	if string(m.Data) != "forged" || !ipc.FromStream(m) {
		t.Errorf("%q with headers %v is taken for news", m.Data, m.Header)
	}
	if err := as(t, s, dir, Tracker).Publish(subject, []byte("true")); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "true" {
		t.Errorf("the stage heard %q", got)
	}
}
