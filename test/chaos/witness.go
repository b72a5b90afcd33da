package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/source"
	"facetrack/ipc"
)

// witnessVariable makes this program a witness: its value is the server's URL, and the rig after a space.
const witnessVariable = "FACETRACK_CHAOS_WITNESS"

// Testimony is what witnesses have seen.
type Testimony struct {
	Checked int            `json:"checked"` // frames that were whole and the right ones, as their leases said
	Refused map[string]int `json:"refused"` // frames that cannot be relied on, as their leases said, by reason
	Torn    []string       `json:"torn"`    // frames that were not what their leases said
}

func (t *Testimony) add(o Testimony) {
	t.Checked += o.Checked
	t.Torn = append(t.Torn, o.Torn...)
	if t.Refused == nil {
		t.Refused = map[string]int{}
	}
	for reason, n := range o.Refused {
		t.Refused[reason] += n
	}
}

// witness reads frames as the rig's own processes do, by the same links, holds them for long, and reads from the pixels which frame they are
// of. Stopped in the middle, it has to be told that what it read does not count.
type witness struct {
	nc  *ipc.Conn
	rig string

	mu   sync.Mutex
	seen Testimony
}

// longestLook is how long a frame is held at most.
const longestLook = 400 * time.Millisecond

// serveWitness is the witness's process. It writes what it has seen a few times a second, until it is killed.
func serveWitness(what string) error {
	url, rig, _ := strings.Cut(what, " ")
	nc, err := ipc.Connect(url, "chaos-witness", slog.New(slog.DiscardHandler), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	w := &witness{nc: nc, rig: rig, seen: Testimony{Refused: map[string]int{}}}
	for i := range fileCameras {
		if err := w.follow(fileCamera(i)); err != nil {
			return err
		}
	}
	out := json.NewEncoder(os.Stdout)
	for {
		time.Sleep(200 * time.Millisecond)
		w.mu.Lock()
		err := out.Encode(w.seen)
		w.mu.Unlock()
		if err != nil {
			return nil // nobody listens any more
		}
	}
}

// follow looks at frames of a camera, one at a time; those that come meanwhile are left out.
func (w *witness) follow(camera string) error {
	link, err := ipc.NewLink(w.nc.Conn, w.rig, camera, "witness", ipc.LinkOptions{Allow: []ipc.Transport{ipc.SHM}})
	if err != nil {
		return err
	}
	next := make(chan ipc.Frame, 1)
	go func() {
		for f := range next {
			w.look(link, f)
		}
	}()
	_, err = w.nc.Subscribe(ipc.Subject(w.rig, camera, ipc.KindFrame), func(m *nats.Msg) {
		if f, err := ipc.PeekFrame(m.Data); err == nil {
			select {
			case next <- f:
			default:
			}
		}
	})
	return err
}

func (w *witness) look(link *ipc.Link, f ipc.Frame) {
	lease, err := link.Lease(context.Background(), f)
	if err != nil {
		w.refused(err)
		return
	}
	pixels, err := lease.Host()
	if err != nil {
		w.refused(errors.Join(err, lease.Release()))
		return
	}
	time.Sleep(rand.N(longestLook)) //nolint:gosec // no secret; a slow reader
	index, read := source.SyntheticIndex(pixels, f.Format, f.Width)
	if err := lease.Release(); err != nil {
		w.refused(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := drawnFrame(place(f.MediaNS)); read != nil || int64(index) != want {
		w.seen.Torn = append(w.seen.Torn, fmt.Sprintf("%s frame %d shows drawing %d, not %d: %v", f.Camera, f.Seq, index, want, read))
		return
	}
	w.seen.Checked++
}

func (w *witness) refused(err error) {
	reason := "other"
	for _, known := range []struct {
		err  error
		name string
	}{
		{gpuring.ErrRevoked, "revoked"}, {gpuring.ErrClosed, "ring closed"}, {gpuring.ErrStale, "overwritten"}, {ipc.ErrOtherRing, "another ring"},
	} {
		if errors.Is(err, known.err) {
			reason = known.name
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Refused[reason]++
}
