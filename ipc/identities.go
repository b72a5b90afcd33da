package ipc

import (
	"context"
	"encoding/json"
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
