package ipc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/ipc"
)

func TestSettings(t *testing.T) {
	s := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	js := openJetStream(t, connect(t, s.ClientURL()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := ipc.FindSettings(ctx, js, "lab"); !errors.Is(err, ipc.ErrNoKey) {
		t.Errorf("no bucket: %v", err)
	}
	settings, err := ipc.OpenSettings(ctx, js, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ipc.FindSettings(ctx, js, "lab"); err != nil || again == nil {
		t.Errorf("the bucket that is there: %v", err)
	}
	if _, err := settings.Latest(ctx); !errors.Is(err, ipc.ErrNoKey) {
		t.Errorf("nothing stored: %v", err)
	}
	if all, err := settings.History(ctx); err != nil || len(all) != 0 {
		t.Errorf("nothing stored: %v, %v", all, err)
	}
	seen, err := settings.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for i := range 70 { // more than are kept
		if last, err = settings.Put(ctx, []byte{byte(i)}, last); err != nil {
			t.Fatal(err)
		}
		if r := <-seen; r.Number != last || r.Text[0] != byte(i) {
			t.Errorf("watched %+v, want revision %d", r, last)
		}
	}
	for _, after := range []uint64{0, last - 1} {
		if _, err := settings.Put(ctx, []byte("x"), after); !errors.Is(err, ipc.ErrConflict) {
			t.Errorf("after revision %d: %v", after, err)
		}
	}
	all, err := settings.History(ctx)
	if err != nil || len(all) != 64 || all[0].Number != 7 || all[63].Number != 70 {
		t.Errorf("%d revisions, %v", len(all), err)
	}
	if r, err := settings.Latest(ctx); err != nil || r.Number != 70 || r.Created.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
	for _, open := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := ipc.OpenSettings(ctx, js, "a.b"); return err },
		func(ctx context.Context) error { _, err := ipc.FindSettings(ctx, js, "a.b"); return err },
	} {
		if err := open(ctx); !errors.Is(err, ipc.ErrToken) {
			t.Error(err)
		}
	}
}

func TestSettingsWithoutJetStream(t *testing.T) {
	js := openJetStream(t, connect(t, startNATS(t, server.Options{}).ClientURL()))
	for _, open := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := ipc.OpenSettings(ctx, js, "lab"); return err },
		func(ctx context.Context) error { _, err := ipc.FindSettings(ctx, js, "lab"); return err },
	} {
		if err := open(t.Context()); !errors.Is(err, ipc.ErrNoJetStream) || !strings.Contains(err.Error(), "start it with -js") {
			t.Error(err)
		}
	}
}

func TestApplied(t *testing.T) {
	nc := connect(t, startNATS(t, server.Options{}).ClientURL())
	heard, end, err := ipc.HearApplied(nc.Conn, "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, rig := range []string{"other", "lab"} {
		if err := (ipc.Applied{Stage: "detect", Revision: 3, Refused: "no"}).Tell(nc.Conn, rig); err != nil {
			t.Fatal(err)
		}
	}
	if a := <-heard; a.Stage != "detect" || a.Revision != 3 || a.Refused != "no" || a.PID == 0 || a.Host == "" {
		t.Errorf("%+v", a)
	}
}
