package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/ipc"
)

// Results are those of a rig, to be read.
type Results struct {
	rig    string
	stream jetstream.Stream
	bucket jetstream.KeyValue
}

// Kept is a session and what of it is still there.
type Kept struct {
	Session
	From, To uint64 // numbers in the stream; From > To: nothing
	Whole    bool   // nothing of it was discarded
	Bytes    uint64
	Over     bool // it has an end in order; else it runs, or its end was not written down
}

// Find opens the results of a rig. ErrNothing when there are none, ipc.ErrNoJetStream without JetStream.
func Find(ctx context.Context, js jetstream.JetStream, rig string) (*Results, error) {
	if err := ipc.CheckToken("rig", rig); err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, ipc.ResultsStream(rig))
	if err != nil {
		return nil, unfound(err)
	}
	bucket, err := js.KeyValue(ctx, ipc.SessionsBucket(rig))
	if err != nil {
		return nil, unfound(err)
	}
	return &Results{rig: rig, stream: stream, bucket: bucket}, nil
}

func unfound(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return ErrNothing
	case ipc.NoJetStream(err):
		return ipc.ErrNoJetStream
	}
	return err
}

// Sessions lists those of which something is left, the oldest first.
func (r *Results) Sessions(ctx context.Context) ([]Kept, error) {
	all, err := list(ctx, r.bucket)
	if err != nil {
		return nil, err
	}
	info, err := r.stream.Info(ctx)
	if err != nil {
		return nil, unfound(err)
	}
	var kept []Kept
	for i := range all {
		last := lastOf(all, i, info.State.LastSeq)
		k := Kept{Session: all[i], From: max(all[i].First, info.State.FirstSeq), To: last, Over: all[i].End != nil && all[i].End.Orderly}
		if !all[i].Stream.Equal(info.Created) || k.From > k.To {
			continue
		}
		if k.End == nil {
			if k.End, err = found(ctx, r.stream, info, all, i); err != nil {
				return nil, err
			}
		}
		k.Whole = k.From == k.First
		k.Bytes = k.End.Bytes
		if !k.Whole {
			k.Bytes = uint64(float64(k.Bytes) * float64(k.To+1-k.From) / float64(k.To+1-k.First))
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// Latest names the session that began last.
const Latest = "latest"

// Session finds one that is listed, or the [Latest]. The error of an unknown one names those that are there.
func (r *Results) Session(ctx context.Context, id string) (Kept, error) {
	all, err := r.Sessions(ctx)
	switch {
	case err != nil:
		return Kept{}, err
	case len(all) == 0:
		return Kept{}, ErrNothing
	case id == Latest:
		return all[len(all)-1], nil
	}
	i := slices.IndexFunc(all, func(k Kept) bool { return k.ID == id })
	if i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, k := range all[max(0, len(all)-listed):] {
		names = append(names, k.ID)
	}
	return Kept{}, fmt.Errorf("%w: %q; there are %s", ErrNoSession, id, strings.Join(names, ", "))
}

// listed is how many sessions an error names.
const listed = 8

// Message is one that was kept.
type Message struct {
	Subject string
	Data    []byte
	Seq     uint64 // in the stream
	At      time.Time
}

// Read gives f the messages of a session whose kinds are named, in order, until f returns an error. It reads ahead of f by few.
func (r *Results) Read(ctx context.Context, k Kept, kinds []string, f func(Message) error) error {
	c, err := r.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: ipc.ResultsSubjects(r.rig, kinds), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: k.From,
	})
	if err != nil {
		return err
	}
	if info := c.CachedInfo(); info == nil || info.NumPending == 0 {
		return nil
	}
	all, err := c.Messages(jetstream.PullMaxMessages(ahead))
	if err != nil {
		return err
	}
	defer all.Stop()
	defer context.AfterFunc(ctx, all.Stop)()
	for {
		m, err := all.Next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read the stored results: %w", err)
		}
		about, err := m.Metadata()
		if err != nil {
			return err
		}
		if about.Sequence.Stream > k.To {
			return nil
		}
		if err := f(Message{m.Subject(), m.Data(), about.Sequence.Stream, about.Timestamp}); err != nil {
			return err
		}
		if about.NumPending == 0 || about.Sequence.Stream == k.To {
			return nil
		}
	}
}

// ahead is how many messages are asked for at once.
const ahead = 256
