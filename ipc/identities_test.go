package ipc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/ipc"
)

func TestIdentitiesOfARig(t *testing.T) {
	s := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	nc := connect(t, s.ClientURL())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := ipc.OpenBucket(ctx, openJetStream(t, nc), "lab")
	if err != nil {
		t.Fatal(err)
	}
	type people struct {
		Last int `json:"last"`
	}
	for last := range 4 {
		for _, camera := range []string{"a", "b"} {
			if _, err := b.SendIdentities(camera, people{last}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := b.Put(ctx, "after", people{9}); err != nil { // reaches the server after what was sent before
		t.Fatal(err)
	}
	for _, camera := range []string{"a", "b"} {
		var got people
		if err := b.Identities(ctx, camera, &got); err != nil || got.Last != 3 {
			t.Errorf("camera %s: %v, %+v", camera, err, got)
		}
	}
	if err := b.PutRing(ctx, ipc.RingState{Camera: "a", NextSeq: 7}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // there is something to clear, then nothing
		if err := b.ClearRun(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var got people
	for _, camera := range []string{"a", "b", "c"} {
		if err := b.Identities(ctx, camera, &got); !errors.Is(err, ipc.ErrNoKey) {
			t.Errorf("camera %s after clearing: %v", camera, err)
		}
	}
	if _, err := b.Ring(ctx, "a"); !errors.Is(err, ipc.ErrNoKey) {
		t.Errorf("ring after clearing: %v", err)
	}
	if _, err := b.Get(ctx, "after", &got); err != nil || got.Last != 9 {
		t.Errorf("the configuration is gone, too: %v", err)
	}
	if _, err := b.SendIdentities("a.b", got); !errors.Is(err, ipc.ErrToken) {
		t.Error(err)
	}
	if err := b.Identities(ctx, "a.b", &got); !errors.Is(err, ipc.ErrToken) {
		t.Error(err)
	}
	if _, err := b.SendIdentities("a", func() {}); err == nil {
		t.Error("a function was stored")
	}
}

// A bucket that is gone does not go unnoticed, and nobody waits for it.
func TestIdentitiesThatAreNotStored(t *testing.T) {
	s := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	js := openJetStream(t, connect(t, s.ClientURL()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := ipc.OpenBucket(ctx, js, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(ctx, "facetrack_lab"); err != nil {
		t.Fatal(err)
	}
	failed, err := b.SendIdentities("a", 1)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("failed without an error")
		}
	case <-ctx.Done():
		t.Error("nobody says that nothing was stored")
	}
}
