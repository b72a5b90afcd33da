package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/version"
	"facetrack/ipc"
)

// What a mark in the stream says about a session; see ipc.SessionSubject.
const (
	markBegin = "begin"
	markEnd   = "end"
)

// Session is a run of a rig, as the bucket keeps it.
type Session struct {
	ID     string    `json:"id"`
	Rig    string    `json:"rig"`
	Begin  time.Time `json:"begin"`
	Stream time.Time `json:"stream"` // when the stream was made: another one of this name has other numbers
	First  uint64    `json:"first"`  // number in the stream of the mark with which the session begins
	// Then is how much was in the stream before it.
	Then    Extent   `json:"then"`
	Kinds   []string `json:"kinds"`
	Config  string   `json:"config"` // with which the rig started, YAML
	Version string   `json:"version"`
	End     *End     `json:"end,omitempty"` // nil while it runs, and after a crash until the next session begins
}

// Extent is how much a stream holds.
type Extent struct {
	First uint64 `json:"first"`
	Bytes uint64 `json:"bytes"`
}

// End is what is known of a session that is over.
type End struct {
	At      time.Time          `json:"at"`
	Last    uint64             `json:"last"` // its last number in the stream
	Bytes   uint64             `json:"bytes"`
	Orderly bool               `json:"orderly"` // told by the run itself; else found in the stream, and faces are not known
	Cameras map[string]Account `json:"cameras"`
}

// Account is what a camera gave in a session.
type Account struct {
	Frames  uint64 `json:"frames"`
	Tracked uint64 `json:"tracked"`
	Faces   uint64 `json:"faces"` // in all frames together
}

// Configuration is the one with which the rig started.
func (s *Session) Configuration() (config.Config, error) {
	d, err := config.ParseDocument("session "+s.ID, []byte(s.Config))
	return d.Config, err
}

// Keeper writes down when sessions begin and end.
type Keeper struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	bucket  jetstream.KeyValue
	session Session
}

// Begin makes the stream, or gives it the limits of the configuration, and begins a session in it. Sessions that ended without a
// word get an end, those of which nothing is left are forgotten.
//
// A stream in which no session could be begun takes nothing up: it would be taken for the session before.
func Begin(ctx context.Context, js jetstream.JetStream, cfg config.Config, now time.Time) (*Keeper, error) {
	k, err := begin(ctx, js, cfg, now)
	if err != nil {
		return nil, errors.Join(err, Rest(ctx, js, cfg.Rig))
	}
	return k, nil
}

func begin(ctx context.Context, js jetstream.JetStream, cfg config.Config, now time.Time) (*Keeper, error) {
	stream, err := open(ctx, js, cfg.Rig, cfg.Store)
	if err != nil {
		return nil, err
	}
	bucket, err := openBucket(ctx, js, cfg.Rig)
	if err != nil {
		return nil, err
	}
	k := &Keeper{js: js, stream: stream, bucket: bucket}
	if err := k.tidy(ctx); err != nil {
		return nil, fmt.Errorf("sessions of rig %s: %w", cfg.Rig, err)
	}
	return k, k.begin(ctx, cfg, now)
}

// tidy ends what has no end and forgets what is gone.
func (k *Keeper) tidy(ctx context.Context) error {
	all, err := list(ctx, k.bucket)
	if err != nil {
		return err
	}
	info, err := k.stream.Info(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		s := &all[i]
		if last := lastOf(all, i, info.State.LastSeq); !s.Stream.Equal(info.Created) || last < info.State.FirstSeq {
			if err := k.bucket.Purge(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		if s.End != nil {
			continue
		}
		if s.End, err = found(ctx, k.stream, info, all, i); err != nil {
			return err
		}
		if err := k.put(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) begin(ctx context.Context, cfg config.Config, now time.Time) error {
	info, err := k.stream.Info(ctx)
	if err != nil {
		return err
	}
	text, err := config.NewDocument(cfg, "", "", now).Text()
	if err != nil {
		return err
	}
	k.session = Session{
		ID: cfg.Rig + "-" + now.UTC().Format("20060102-150405"), Rig: cfg.Rig, Begin: now, Stream: info.Created,
		Then: Extent{info.State.FirstSeq, info.State.Bytes}, Kinds: cfg.Store.Kinds, Config: string(text), Version: version.SemVer,
	}
	id := k.session.ID
	for n := 2; ; n++ { // several may begin in a second
		_, err := k.bucket.Get(ctx, k.session.ID)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			break
		}
		if err != nil {
			return err
		}
		k.session.ID = fmt.Sprintf("%s-%d", id, n)
	}
	if k.session.First, err = k.mark(ctx, markBegin); err != nil {
		return err
	}
	return k.put(ctx, &k.session)
}

// mark puts the session into the stream, where it stands between the messages of its cameras.
func (k *Keeper) mark(ctx context.Context, what string) (seq uint64, err error) {
	data, err := json.Marshal(k.session)
	if err != nil {
		return 0, err
	}
	ack, err := k.js.Publish(ctx, ipc.SessionSubject(k.session.Rig, k.session.ID, what), data)
	if err != nil {
		return 0, fmt.Errorf("mark of the session: %w", err)
	}
	return ack.Sequence, nil
}

func (k *Keeper) put(ctx context.Context, s *Session) error {
	data, err := json.Marshal(s)
	if err == nil {
		_, err = k.bucket.Put(ctx, s.ID, data)
	}
	return err
}

// Session is the one that has begun.
func (k *Keeper) Session() Session { return k.session }

// Check tells whether the server still keeps the results, and how many messages it has kept of the session.
func (k *Keeper) Check(ctx context.Context) (messages uint64, err error) {
	info, err := k.stream.Info(ctx)
	switch {
	case err != nil:
		return 0, err
	case !info.Created.Equal(k.session.Stream):
		return 0, errors.New("somebody has replaced the stream")
	case len(info.Config.Subjects) == 1:
		return 0, errors.New("somebody has taken its subjects away")
	}
	return info.State.LastSeq - k.session.First, nil
}

// End writes down that the session is over in order, and what its cameras gave.
func (k *Keeper) End(ctx context.Context, cameras map[string]Account, now time.Time) error {
	last, err := k.mark(ctx, markEnd)
	if err != nil {
		return err
	}
	info, err := k.stream.Info(ctx)
	if err != nil {
		return err
	}
	k.session.End = &End{At: now, Last: last, Bytes: bytesOf(&k.session, last, info), Orderly: true, Cameras: cameras}
	return k.put(ctx, &k.session)
}

// bytesOf is what the session up to last takes: exactly if nothing was discarded meanwhile, else by its share of the messages.
func bytesOf(s *Session, last uint64, info *jetstream.StreamInfo) uint64 {
	state := info.State
	switch {
	case last < state.FirstSeq || last <= s.First:
		return 0
	case state.LastSeq == last && state.FirstSeq == s.Then.First:
		return state.Bytes - s.Then.Bytes
	case state.LastSeq == last && state.FirstSeq >= s.First:
		return state.Bytes
	}
	kept := last + 1 - max(s.First, state.FirstSeq)
	return uint64(float64(state.Bytes) * float64(kept) / float64(max(1, state.Msgs)))
}

// list reads all sessions, the oldest first.
func list(ctx context.Context, bucket jetstream.KeyValue) ([]Session, error) {
	w, err := bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Stop() }()
	var all []Session
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e := <-w.Updates():
			if e == nil { // nil: that was all
				slices.SortFunc(all, func(a, b Session) int { return strings.Compare(order(&a), order(&b)) })
				return all, nil
			}
			var s Session
			if err := json.Unmarshal(e.Value(), &s); err != nil {
				return nil, fmt.Errorf("session %s: %w", e.Key(), err)
			}
			all = append(all, s)
		}
	}
}

// order is that of sessions: by stream, then by number.
func order(s *Session) string {
	return fmt.Sprintf("%s %020d", s.Stream.UTC().Format(time.RFC3339Nano), s.First)
}

// lastOf is the last number that can be one of session i: its end, else that before the next session, else the stream's last.
func lastOf(all []Session, i int, last uint64) uint64 {
	switch {
	case all[i].End != nil:
		return all[i].End.Last
	case i+1 < len(all) && all[i+1].Stream.Equal(all[i].Stream):
		return all[i+1].First - 1
	}
	return last
}

// found is the end of a session that has none: as much as the stream tells.
func found(ctx context.Context, stream jetstream.Stream, info *jetstream.StreamInfo, all []Session, i int) (*End, error) {
	s := &all[i]
	last := lastOf(all, i, info.State.LastSeq)
	end := &End{At: s.Begin, Last: last, Cameras: map[string]Account{}}
	end.Bytes = bytesOf(s, last, info)
	if last != info.State.LastSeq { // others followed: what stands last on its subjects is theirs
		return end, nil
	}
	for _, kind := range []ipc.Kind{ipc.KindTracks, ipc.KindLandmarks, ipc.KindDetections, ipc.KindFrame} {
		at, err := stream.Info(ctx, jetstream.WithSubjectFilter(ipc.AllCameras(s.Rig, kind)))
		if err != nil {
			return nil, err
		}
		for subject := range at.State.Subjects {
			if err := end.take(ctx, stream, s, subject); err != nil {
				return nil, err
			}
		}
	}
	return end, nil
}

// take counts the frames of a camera by the last message on one of its subjects.
func (e *End) take(ctx context.Context, stream jetstream.Stream, s *Session, subject string) error {
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := ipc.PeekFrame(m.Data)
	if m.Sequence <= s.First || err != nil { // an earlier session's, or no frame's
		return nil
	}
	if m.Time.After(e.At) {
		e.At = m.Time
	}
	a := e.Cameras[f.Camera]
	a.Frames = max(a.Frames, f.Seq+1)
	e.Cameras[f.Camera] = a
	return nil
}
