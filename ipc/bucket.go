package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/gpuring"
)

// Errors of a Bucket.
var (
	// ErrNoJetStream: the server keeps no state.
	ErrNoJetStream = errors.New("the NATS server has no JetStream: start it with -js, or use facetrack up")
	// ErrNoKey: the key has no value.
	ErrNoKey = errors.New("no such key")
	// ErrConflict: somebody else changed the key since it was read.
	ErrConflict = errors.New("the key was changed meanwhile: read it again")
	// ErrNoBucket: nobody has made the bucket of the rig.
	ErrNoBucket = errors.New("the rig has no bucket: facetrack up makes it, and so do facetrack begin and facetrack auth prepare")
)

// Bucket keeps the ring state and the identities of a rig in a JetStream key-value bucket; its configuration is in [Settings].
type Bucket struct {
	js jetstream.JetStream
	kv jetstream.KeyValue
}

// RingState is what a rig remembers about a camera's ring.
type RingState struct {
	Camera     string           `json:"camera"`
	Ring       string           `json:"ring"`
	Generation uint64           `json:"generation"`
	Geometry   gpuring.Geometry `json:"geometry"`
	Host       string           `json:"host"`
	PID        int              `json:"pid"`
	Open       bool             `json:"open"`
	NextSeq    uint64           `json:"next_seq"`  // where the camera's numbers go on after an orderly end of capture
	WallNS     int64            `json:"t_wall_ns"` // when this was written, since the Unix epoch
}

// BucketName is the name of a rig's bucket.
func BucketName(rig string) string { return "facetrack_" + rig }

// OpenBucket opens the bucket of a rig and makes it when there is none. ErrNoJetStream without JetStream.
func OpenBucket(ctx context.Context, js jetstream.JetStream, rig string) (*Bucket, error) {
	b, err := FindBucket(ctx, js, rig)
	if !errors.Is(err, ErrNoBucket) {
		return b, err
	}
	return bucket(js, BucketName(rig), func(name string) (jetstream.KeyValue, error) {
		return js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name, Description: "ring state and identities of rig " + rig, History: 8,
		})
	})
}

// FindBucket opens the bucket of a rig. ErrNoBucket when there is none, ErrNoJetStream without JetStream.
func FindBucket(ctx context.Context, js jetstream.JetStream, rig string) (*Bucket, error) {
	if err := CheckToken("rig", rig); err != nil {
		return nil, err
	}
	return bucket(js, BucketName(rig), func(name string) (jetstream.KeyValue, error) { return js.KeyValue(ctx, name) })
}

func bucket(js jetstream.JetStream, name string, open func(name string) (jetstream.KeyValue, error)) (*Bucket, error) {
	kv, err := open(name)
	switch {
	case err == nil:
		return &Bucket{js: js, kv: kv}, nil
	case errors.Is(err, jetstream.ErrBucketNotFound):
		err = ErrNoBucket
	case NoJetStream(err):
		err = ErrNoJetStream
	}
	return nil, fmt.Errorf("bucket %s: %w", name, err)
}

// NoJetStream tells the errors of a server that keeps no state.
func NoJetStream(err error) bool {
	for _, none := range []error{jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount, nats.ErrNoResponders} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// Put stores v as JSON and returns the revision.
func (b *Bucket) Put(ctx context.Context, key string, v any) (revision uint64, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		revision, err = b.kv.Put(ctx, key, data)
	}
	return revision, about("put", key, err)
}

// Update stores v as JSON if the key still has the given revision, 0 for a key that must not exist yet.
// ErrConflict when it has not.
func (b *Bucket) Update(ctx context.Context, key string, v any, revision uint64) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, about("update", key, err)
	}
	if revision == 0 {
		revision, err = b.kv.Create(ctx, key, data)
	} else {
		revision, err = b.kv.Update(ctx, key, data, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return revision, about("update", key, err)
}

// Get reads the key's JSON into v and returns its revision. ErrNoKey when it has no value.
func (b *Bucket) Get(ctx context.Context, key string, v any) (revision uint64, err error) {
	entry, err := b.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, about("get", key, ErrNoKey)
	case err != nil:
		return 0, about("get", key, err)
	}
	return entry.Revision(), about("get", key, json.Unmarshal(entry.Value(), v))
}

func about(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ipc: %s %s: %w", what, key, err)
}

// ringKey begins the keys under which the rings of cameras are kept, one a camera.
const ringKey = "ring."

// PutRing stores the state of a camera's ring.
func (b *Bucket) PutRing(ctx context.Context, s RingState) error {
	if err := CheckToken("camera", s.Camera); err != nil {
		return err
	}
	_, err := b.Put(ctx, ringKey+s.Camera, s)
	return err
}

// Ring reads the state of a camera's ring.
func (b *Bucket) Ring(ctx context.Context, camera string) (RingState, error) {
	var s RingState
	if err := CheckToken("camera", camera); err != nil {
		return s, err
	}
	_, err := b.Get(ctx, ringKey+camera, &s)
	return s, err
}

// ClearRun forgets what belongs to one run of the rig: a new one numbers frames from 0 and people from 1.
func (b *Bucket) ClearRun(ctx context.Context) error {
	var errs []error
	for _, all := range []string{identitiesKey + "*", ringKey + "*"} {
		keys, err := b.kv.ListKeysFiltered(ctx, all)
		if err != nil {
			return about("list", all, err)
		}
		for key := range keys.Keys() {
			if err := b.kv.Purge(ctx, key); err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
				errs = append(errs, about("clear", key, err))
			}
		}
		errs = append(errs, about("list", all, ctx.Err())) // the list ends early when ctx does
	}
	return errors.Join(errs...)
}
