// Package store keeps a rig's results in a stream of JetStream, within limits, and knows which part of it is which session.
//
// The server takes the messages up as they pass: no process sends anything for it, or waits for it. A session is one run of a rig.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// Errors of what is stored.
var (
	// ErrRefused: the server does not make the stream as the configuration wants it.
	ErrRefused = errors.New("the NATS server does not keep results as store.* says")
	// ErrNothing: no results of the rig are on the server.
	ErrNothing = errors.New("no results are stored")
	// ErrNoSession: there is no session of that name.
	ErrNoSession = errors.New("no such session")
)

// StreamConfig is the stream of a rig's results: the kinds that the configuration names and the marks of sessions, in files, the
// oldest discarded when there is no more room.
func StreamConfig(rig string, c config.Store) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: ipc.ResultsStream(rig), Description: "results of rig " + rig,
		Subjects: append(ipc.ResultsSubjects(rig, c.Kinds), ipc.SessionSubject(rig, ipc.Any, ipc.Any)),
		Storage:  jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: c.MaxAge(), MaxBytes: c.MaxBytes(),
	}
}

// open makes the stream, or gives an existing one the limits of the configuration. What is as it is to be is left alone: a server whose
// disk has filled up since refuses any change.
func open(ctx context.Context, js jetstream.JetStream, rig string, c config.Store) (jetstream.Stream, error) {
	want := StreamConfig(rig, c)
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !alike(s.CachedInfo().Config, want) {
		s, err = js.CreateOrUpdateStream(ctx, want)
	}
	if err != nil {
		return nil, refusal(err)
	}
	return s, nil
}

func alike(a, b jetstream.StreamConfig) bool {
	return slices.Equal(a.Subjects, b.Subjects) && a.MaxAge == b.MaxAge && a.MaxBytes == b.MaxBytes
}

// openBucket makes the bucket of sessions if there is none.
func openBucket(ctx context.Context, js jetstream.JetStream, rig string) (jetstream.KeyValue, error) {
	name := ipc.SessionsBucket(rig)
	bucket, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, Description: "sessions in " + ipc.ResultsStream(rig), History: 1})
	}
	if err != nil {
		return nil, refusal(err)
	}
	return bucket, nil
}

// Rest has an existing stream take nothing up any more; what is in it stays until its limits take it.
func Rest(ctx context.Context, js jetstream.JetStream, rig string) error {
	s, err := js.Stream(ctx, ipc.ResultsStream(rig))
	if errors.Is(err, jetstream.ErrStreamNotFound) || ipc.NoJetStream(err) {
		return nil
	}
	if err != nil {
		return refusal(err)
	}
	c := s.CachedInfo().Config
	nobodys := []string{c.Name} // it has to have a subject
	if slices.Equal(c.Subjects, nobodys) {
		return nil
	}
	c.Subjects = nobodys
	if _, err := js.UpdateStream(ctx, c); err != nil {
		return refusal(err)
	}
	return nil
}

// refusal says what a server's error means for the user.
func refusal(err error) error {
	var api *jetstream.APIError
	switch {
	case ipc.NoJetStream(err):
		return fmt.Errorf("%w: %w", ErrRefused, ipc.ErrNoJetStream)
	case errors.As(err, &api) && slices.Contains(noRoom, api.ErrorCode):
		return fmt.Errorf("%w: it has no room for store.max_gb, which it reserves: make it smaller, or give the server more room on its disk: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// noRoom are the server's codes for "insufficient resources", "insufficient storage resources available" and "stream max bytes exceeds
// account limit max stream bytes".
var noRoom = []jetstream.ErrorCode{10023, 10047, 10122}
