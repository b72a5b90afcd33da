package app

import (
	"context"
	"errors"
	"math"
	"os"
	"os/user"
	"slices"
	"time"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// storeConfig stores the configuration with which a rig starts, unless it is there already, and returns its revision.
func storeConfig(ctx context.Context, settings *ipc.Settings, cfg config.Config, what string) (uint64, error) {
	latest, err := settings.Latest(ctx)
	if err != nil && !errors.Is(err, ipc.ErrNoKey) {
		return 0, err
	}
	if err == nil {
		if d, err := config.ParseDocument(revisionName(latest.Number), latest.Text); err == nil && sameConfig(d.Config, cfg) {
			return latest.Number, nil
		}
	}
	return putConfig(ctx, settings, cfg, what, latest.Number)
}

func sameConfig(a, b config.Config) bool {
	return len(config.Changes(a, b)) == 0 && slices.Equal(cameraNames(a), cameraNames(b)) &&
		a.Detect.ModelReason == b.Detect.ModelReason && a.Landmarks.ModelReason == b.Landmarks.ModelReason
}

// putConfig stores a configuration that was made from the revision after.
func putConfig(ctx context.Context, settings *ipc.Settings, cfg config.Config, what string, after uint64) (uint64, error) {
	text, err := config.NewDocument(cfg, author(), what, time.Now()).Text()
	if err != nil {
		return 0, err
	}
	return settings.Put(ctx, text, after)
}

// author is user@host, as far as they are known.
func author() string {
	name := "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return name + "@" + host
}

// follow keeps the books on the cameras that come and go while the rig runs. What is no change for the stages is none here;
// they say why.
func (r *rig) follow(rev ipc.Revision) {
	if rev.Number <= r.revision || len(rev.Text) == 0 {
		return
	}
	d, err := config.ParseDocument(revisionName(rev.Number), rev.Text)
	if err != nil {
		return
	}
	next, err := r.cfg.Follow(d.Config)
	if err != nil {
		return
	}
	added, removed := config.CameraChanges(r.cfg, next)
	for _, c := range added {
		r.monitor.Ledger.Ended(c.Name, "") // it may have been here before
		r.gone = slices.DeleteFunc(r.gone, func(g config.Camera) bool { return g.Name == c.Name })
	}
	for _, c := range removed {
		r.monitor.Ledger.Ended(c.Name, ipc.EndRemoved) // which a camera that never was open does not say itself
	}
	r.gone = append(r.gone, removed...)
	r.cfg, r.revision = next, rev.Number
	if r.xdf != nil {
		next.LSL.MaxSlots = math.MaxInt // as from the start
		r.xdf.set.Configure(next)
	}
	r.log.Info("configuration taken over", "revision", rev.Number)
}
