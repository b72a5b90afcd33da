package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/config"
	"facetrack/internal/ledger"
	"facetrack/internal/store"
	"facetrack/ipc"
)

const (
	storeWait  = 5 * time.Second // for the server's word on what it stores
	storeEvery = 2 * time.Second // how often it is asked whether it still does
)

// beginSession has the server keep a rig's results from now on, if the configuration wants it; nil where it does not. A server that
// will not is no reason not to run.
func beginSession(ctx context.Context, nc *nats.Conn, cfg config.Config, log *slog.Logger) *store.Keeper {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	js, err := jetstream.New(nc)
	var keeper *store.Keeper
	switch {
	case err != nil:
	case !cfg.Store.Enabled:
		err = store.Rest(ctx, js, cfg.Rig)
	default:
		keeper, err = store.Begin(ctx, js, cfg, time.Now())
	}
	if refused := denied(nc, cfg.Rig); err != nil && refused != nil {
		err = refused
	}
	switch {
	case err == nil:
		return keeper
	case cfg.Store.Enabled:
		log.Error("the run goes on, but its results are not stored", "error", err)
	default:
		log.Warn("results may be stored although store.enabled is false", "error", err)
	}
	return nil
}

// watchStore warns, once, when the server stops storing what the rig finds.
func (r *rig) watchStore(ctx context.Context) {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	perFrame := slices.ContainsFunc(r.cfg.Store.Kinds, func(kind string) bool { return slices.Contains(ofEveryFrame, kind) })
	var before, tracked uint64
	still := 0 // times in a row that frames came and nothing was stored: once may be chance
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !r.bus.IsConnected() {
			continue
		}
		now := trackedOf(r.monitor.Ledger.Summaries())
		asked, cancel := context.WithTimeout(ctx, storeWait)
		kept, err := r.keeper.Check(asked)
		cancel()
		switch {
		case err != nil:
		case kept != before || !perFrame:
			before, tracked, still = kept, now, 0
		case now > tracked:
			if still++; still > 1 {
				err = fmt.Errorf("of the last %d frames nothing came in", now-tracked)
			}
		}
		if err != nil && ctx.Err() == nil && r.bus.IsConnected() {
			r.log.Error("the run goes on, but its results are not stored any more", "error", err)
			return
		}
	}
}

// ofEveryFrame are kinds of which each tracked frame has a message.
var ofEveryFrame = []string{string(ipc.KindFrame), string(ipc.KindDetections), string(ipc.KindLandmarks), string(ipc.KindTracks)}

func trackedOf(cameras map[string]ledger.Summary) (frames uint64) {
	for _, c := range cameras {
		frames += c.Tracked
	}
	return frames
}

// endSession writes down what came of the session, if there is one.
func (r *rig) endSession() {
	if r.keeper == nil || !r.bus.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	cameras := map[string]store.Account{}
	for name, c := range r.monitor.Ledger.Summaries() {
		cameras[name] = store.Account{Frames: c.Captured, Tracked: c.Tracked, Faces: c.Faces}
	}
	if err := r.keeper.End(ctx, cameras, time.Now()); err != nil {
		r.log.Warn("the end of the session is not written down; the next run finds it", "session", r.keeper.Session().ID, "error", err)
	}
}
