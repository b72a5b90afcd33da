package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// Errors of copies.
var (
	// ErrTaken: a stream of the name is there, and is no copy of another host's.
	ErrTaken = errors.New("a stream of that name is kept here already")
	// ErrCopied: a copy from before is there, and goes on.
	ErrCopied = errors.New("results of another host are still copied, although store.enabled is false")
)

// CopyConfig is the hub's copy of what another host keeps: the same messages under the same numbers, so that none is missing and none there twice. What the host keeps
// while it is not reached comes when it is. The hub's own limits hold for each copy.
func CopyConfig(rig string, c config.Store) jetstream.StreamConfig {
	name := ipc.ResultsStream(rig)
	return jetstream.StreamConfig{
		Name: name, Description: "copy of the results of rig " + rig + " on another host",
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxAge: c.MaxAge(), MaxBytes: c.MaxBytes(),
		Mirror: &jetstream.StreamSource{
			Name: name, External: &jetstream.ExternalStream{APIPrefix: "$JS." + rig + ".API", DeliverPrefix: ipc.KeptPrefix(rig)},
		},
	}
}

// Copy has the hub keep what the hosts keep, where it keeps results itself. A copy that is there gets the limits of the configuration.
func Copy(ctx context.Context, js jetstream.JetStream, cfg config.Config) error {
	each := makeCopy
	if !cfg.Store.Enabled {
		each = noCopy
	}
	var errs []error
	for _, rig := range cfg.HostNames() {
		if err := each(ctx, js, rig, cfg.Store); err != nil {
			errs = append(errs, fmt.Errorf("copy of rig %s: %w", rig, err))
		}
	}
	return errors.Join(errs...)
}

// noCopy looks for one that was made before: a server has no way to let it rest.
func noCopy(ctx context.Context, js jetstream.JetStream, rig string, _ config.Store) error {
	name := ipc.ResultsStream(rig)
	s, err := js.Stream(ctx, name)
	if err != nil || s.CachedInfo().Config.Mirror == nil {
		return nil //nolint:nilerr // nothing is copied where nothing can be
	}
	return fmt.Errorf("%w: end that with nats stream rm %s", ErrCopied, name)
}

func makeCopy(ctx context.Context, js jetstream.JetStream, rig string, c config.Store) error {
	want := CopyConfig(rig, c)
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, want)
	} else if err == nil {
		if s.CachedInfo().Config.Mirror == nil { // the rig was on this server before
			return fmt.Errorf("%w: %s: delete it, or give the rig another name", ErrTaken, want.Name)
		}
		_, err = js.UpdateStream(ctx, want)
	}
	if err != nil {
		return refusal(err)
	}
	return nil
}
