package tracker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/ipc"
	"facetrack/track"
)

const (
	rememberNS = 1_000_000_000   // frames this far apart are remembered, besides those with a new identity
	sameBootNS = 2_000_000_000   // a wall clock that jumps farther against CLOCK_MONOTONIC is another boot's, or was set
	patience   = 5 * time.Second // for the bucket to answer, once a camera
)

// camera is the tracker of one camera, and what the bucket knows of it.
type camera struct {
	people *track.Tracker
	now    *config.Config // in effect for it
	seats  seats
	bucket *ipc.Bucket // nil: nothing is remembered
	log    *slog.Logger
	sentNS int64        // time of the frame that was remembered last
	failed <-chan error // why that did not work
	broken bool         // somebody was told so
}

// memory is what the bucket keeps of a camera.
type memory struct {
	TimeNS  int64       `json:"t_ns"`       // of the last frame, see ipc.Frame.TimeNS
	ClockNS int64       `json:"t_clock_ns"` // wall clock minus CLOCK_MONOTONIC where it was captured
	People  track.State `json:"people"`
}

// openCamera goes on from what is remembered of the camera whose first frame is f.
func openCamera(ctx context.Context, env *stage.Env, options track.Options, f *ipc.Frame) *camera {
	c := &camera{people: track.New(options), bucket: env.Bucket, log: env.Log.With("camera", f.Camera)}
	if c.bucket == nil {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var m memory
	switch err := c.bucket.Identities(ctx, f.Camera, &m); {
	case errors.Is(err, ipc.ErrNoKey):
	case err != nil:
		c.log.Warn("earlier identities are not known: numbers may be given again", "error", err)
	default:
		c.people = track.Restore(options, m.People, m.elapsed(f))
		c.log.Info("goes on with earlier identities", "identities", len(m.People.Identities), "last", m.People.LastID)
	}
	return c
}

// elapsed is the time from the remembered frame to f, seconds; negative when their clocks are not the same.
func (m *memory) elapsed(f *ipc.Frame) float64 {
	jump := clockNS(f) - m.ClockNS
	if f.TimeNS() < m.TimeNS || jump > sameBootNS || jump < -sameBootNS {
		return -1
	}
	return float64(f.TimeNS()-m.TimeNS) / 1e9
}

func clockNS(f *ipc.Frame) int64 { return f.WallNS - f.CaptureNS }

// remember stores what is known after frame f: at once when an identity is new, else about once a second. It does
// not wait.
func (c *camera) remember(f *ipc.Frame, newcomer bool) {
	if c.bucket == nil {
		return
	}
	since := f.TimeNS() - c.sentNS
	if !newcomer && since >= 0 && since < rememberNS {
		return
	}
	select {
	case err := <-c.failed:
		c.report(err)
	default:
	}
	people := c.people.State()
	if people.LastID == 0 {
		return
	}
	failed, err := c.bucket.SendIdentities(f.Camera, memory{TimeNS: f.TimeNS(), ClockNS: clockNS(f), People: people})
	if err != nil {
		c.report(err)
		c.sentNS = f.TimeNS() - rememberNS // the next frame tries again
		return
	}
	c.sentNS, c.failed = f.TimeNS(), failed
}

func (c *camera) report(err error) {
	if !c.broken {
		c.log.Warn("identities are not stored: a tracker that is started again may give their numbers to others", "error", err)
	}
	c.broken = true
}
