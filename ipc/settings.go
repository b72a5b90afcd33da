package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// settingsHistory is the most that a key-value bucket keeps.
const settingsHistory = 64

// rewatchEvery is how often a server that is back is asked for changes until it answers.
const rewatchEvery = 250 * time.Millisecond

const settingsKey = "config"

// Settings keeps the configuration of a rig, with its history, in a bucket of its own: facetrack-config_<rig>, key config.
// Text is the YAML that `nats kv get` shows as well.
type Settings struct {
	nc *nats.Conn
	kv jetstream.KeyValue
}

// Revision is a configuration that was in the bucket.
type Revision struct {
	Number  uint64
	Text    []byte // empty: the key was deleted
	Created time.Time
}

// SettingsBucket is the name of a rig's bucket. No [Bucket] of any rig has it.
func SettingsBucket(rig string) string { return "facetrack-config_" + rig }

// OpenSettings opens the bucket of a rig's configuration and makes it when there is none. ErrNoJetStream without JetStream.
func OpenSettings(ctx context.Context, js jetstream.JetStream, rig string) (*Settings, error) {
	if err := CheckToken("rig", rig); err != nil {
		return nil, err
	}
	name := SettingsBucket(rig)
	kv, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name, Description: "configuration of rig " + rig, History: settingsHistory,
		})
	}
	if NoJetStream(err) {
		return nil, fmt.Errorf("bucket %s: %w", name, ErrNoJetStream)
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return &Settings{js.Conn(), kv}, nil
}

// FindSettings is OpenSettings that makes no bucket: ErrNoKey when there is none.
func FindSettings(ctx context.Context, js jetstream.JetStream, rig string) (*Settings, error) {
	if err := CheckToken("rig", rig); err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, SettingsBucket(rig))
	switch {
	case NoJetStream(err):
		err = ErrNoJetStream
	case errors.Is(err, jetstream.ErrBucketNotFound):
		err = ErrNoKey
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", SettingsBucket(rig), err)
	}
	return &Settings{js.Conn(), kv}, nil
}

// Put stores a configuration after the revision that it was made from, 0 where there is none. ErrConflict when another one was
// stored meanwhile.
func (s *Settings) Put(ctx context.Context, text []byte, after uint64) (revision uint64, err error) {
	if after == 0 {
		revision, err = s.kv.Create(ctx, settingsKey, text)
	} else {
		revision, err = s.kv.Update(ctx, settingsKey, text, after)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return revision, about("put", settingsKey, err)
}

// Delete takes the configuration away, if it is still that of the revision. Its history stays.
func (s *Settings) Delete(ctx context.Context, revision uint64) error {
	return about("delete", settingsKey, s.kv.Delete(ctx, settingsKey, jetstream.LastRevision(revision)))
}

// Latest is the revision that was stored last. ErrNoKey when there is none, or it was deleted.
func (s *Settings) Latest(ctx context.Context) (Revision, error) {
	e, err := s.kv.Get(ctx, settingsKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNoKey
	}
	if err != nil {
		return Revision{}, about("get", settingsKey, err)
	}
	return revision(e), nil
}

// History lists the revisions that are kept, the oldest first.
func (s *Settings) History(ctx context.Context) ([]Revision, error) {
	entries, err := s.kv.History(ctx, settingsKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, about("history of", settingsKey, err)
	}
	all := make([]Revision, len(entries))
	for i, e := range entries {
		all[i] = revision(e)
	}
	slices.SortFunc(all, func(a, b Revision) int { return int(a.Number) - int(b.Number) })
	return all, nil
}

// Watch sends the latest revision, if there is one, and then each that is stored, until ctx is done. While the server is away
// nothing comes; what was stored meanwhile comes when it is back.
func (s *Settings) Watch(ctx context.Context) (<-chan Revision, error) {
	w, err := s.kv.Watch(ctx, settingsKey)
	if err != nil {
		return nil, about("watch", settingsKey, err)
	}
	out := make(chan Revision)
	go s.watch(ctx, w, out)
	return out, nil
}

// watch begins anew when the connection is back: by itself the watcher would miss the server only after many seconds.
func (s *Settings) watch(ctx context.Context, w jetstream.KeyWatcher, out chan<- Revision) {
	back := s.nc.StatusChanged(nats.CONNECTED)
	defer s.nc.RemoveStatusListener(back)
	defer close(out)
	defer func() { _ = w.Stop() }() // fails on a connection that is closed
	updates := w.Updates()
	var retry <-chan time.Time // while a server that is back does not serve buckets yet
	anew := func() {
		again, err := s.kv.Watch(ctx, settingsKey)
		if err != nil {
			retry = time.After(rewatchEvery)
			return
		}
		_ = w.Stop()
		w, updates, retry = again, again.Updates(), nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-back:
			if !ok { // the connection is closed
				back, retry = nil, nil
				continue
			}
			anew()
		case <-retry:
			anew()
		case e, ok := <-updates:
			switch {
			case !ok:
				updates = nil
			case e != nil: // nil: what was there is told
				select {
				case out <- revision(e):
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

func revision(e jetstream.KeyValueEntry) Revision {
	r := Revision{Number: e.Revision(), Created: e.Created()}
	if e.Operation() == jetstream.KeyValuePut {
		r.Text = e.Value()
	}
	return r
}

// Applied is what a process says once it has taken a revision of the configuration, or will not.
type Applied struct {
	Stage    string `json:"stage"`
	PID      int    `json:"pid"`
	Host     string `json:"host"`
	Revision uint64 `json:"revision"`
	Refused  string `json:"refused,omitempty"` // why; "": it is in effect
}

// AppliedSubject is where the processes of a stage say what they do about revisions; [Any] for all.
func AppliedSubject(rig, stage string) string {
	return subjectRoot + "." + rig + ".configuration.applied." + stage
}

// Tell publishes it, as of this process.
func (a Applied) Tell(nc *nats.Conn, rig string) error {
	a.PID, a.Host = os.Getpid(), hostname()
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return nc.Publish(AppliedSubject(rig, a.Stage), data)
}

// HearApplied sends what the processes of a rig say from now on, until end is called.
func HearApplied(nc *nats.Conn, rig string) (heard <-chan Applied, end func(), err error) {
	all, done := make(chan Applied), make(chan struct{})
	sub, err := nc.Subscribe(AppliedSubject(rig, Any), func(m *nats.Msg) {
		var a Applied
		if json.Unmarshal(m.Data, &a) != nil {
			return
		}
		select {
		case all <- a:
		case <-done:
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return all, func() { close(done); _ = sub.Unsubscribe() }, nc.Flush()
}
