package ipc

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// identitiesKey begins the keys under which trackers remember their people, one a camera.
const identitiesKey = "identities."

// SendIdentities stores what a camera's tracker knows about its people, as JSON, without waiting for the server.
// A failure that comes to light later arrives on failed. What the same connection publishes afterwards reaches the
// server afterwards: nobody sees an identity there that could be forgotten.
func (b *Bucket) SendIdentities(camera string, v any) (failed <-chan error, err error) {
	if err := CheckToken("camera", camera); err != nil {
		return nil, err
	}
	key := identitiesKey + camera
	data, err := json.Marshal(v)
	if err != nil {
		return nil, about("send", key, err)
	}
	ack, err := b.js.PublishAsync("$KV."+b.kv.Bucket()+"."+key, data)
	if err != nil {
		return nil, about("send", key, err)
	}
	return ack.Err(), nil
}

// Identities reads into v what a camera's tracker has stored. ErrNoKey when that is nothing.
func (b *Bucket) Identities(ctx context.Context, camera string, v any) error {
	if err := CheckToken("camera", camera); err != nil {
		return err
	}
	_, err := b.Get(ctx, identitiesKey+camera, v)
	return err
}

// ClearIdentities forgets the people of all cameras: a new run of the rig numbers them from 1.
func (b *Bucket) ClearIdentities(ctx context.Context) error {
	const all = identitiesKey + "*"
	keys, err := b.kv.ListKeysFiltered(ctx, all)
	if err != nil {
		return about("list", all, err)
	}
	var errs []error
	for key := range keys.Keys() {
		if err := b.kv.Purge(ctx, key); err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			errs = append(errs, about("clear", key, err))
		}
	}
	return errors.Join(append(errs, about("list", all, ctx.Err()))...) // the list ends early when ctx does
}
