// Package stage is what the five processes have in common: their surroundings, permanent errors and publishing.
package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"

	"facetrack/internal/config"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// Names of the stages, as in subjects, services and drop notices.
const (
	Capture   = "capture"
	Detect    = "detect"
	Landmarks = "landmarks"
	Tracker   = "tracker"
	LSLOut    = "lsl-out"
)

// Names lists all stages in the order of the data flow.
var Names = []string{Capture, Detect, Landmarks, Tracker, LSLOut}

// Readers are the stages that read pixels.
var Readers = []string{Detect, Landmarks}

// ErrPermanent is wrapped by errors that would come again if the stage were started again as it is.
var ErrPermanent = errors.New("cannot run")

// Permanent marks an error as one that a restart does not cure; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

type permanent struct{ error }

func (p permanent) Unwrap() error        { return p.error }
func (p permanent) Is(target error) bool { return target == ErrPermanent }

// Env is what a stage works with. It belongs to the caller, who closes what is in it after Run has returned.
type Env struct {
	Name      string
	Config    config.Config // with which the stage starts
	Bus       *nats.Conn
	Out       *ipc.Publisher
	Bucket    *ipc.Bucket // nil when the server keeps no state
	Telemetry *telemetry.Recorder
	Drops     *ipc.Drops
	Dial      func(name string) (*ipc.Conn, error) // another connection to the same server
	Log       *slog.Logger
	Ready     func() // called once the stage takes part in the flow
	Vigil     *Vigil // nil when nobody watches
	Share     *Share // nil when this is the only process of the stage
	// Renewed tells that a new process follows when Run ends with an error that is not permanent.
	Renewed bool
	// Ended tells the parent, past the bus, that a camera gives nothing after its last frame; nil when nobody asks.
	Ended func(camera string, last uint64)
	// Live is where changes of the configuration come from; nil: there are none.
	Live *Live
}

// Publish encodes a message and sends it on the subject of its kind. An error means that nobody got it.
func (e *Env) Publish(camera string, kind ipc.Kind, m ipc.Message) error {
	return e.Out.Publish(ipc.Subject(e.Config.Rig, camera, kind), m)
}

// Subscribe calls handle for every message of a kind from all cameras of this process, in order.
func (e *Env) Subscribe(kind ipc.Kind, handle func(data []byte)) (*nats.Subscription, error) {
	sub, err := e.Bus.Subscribe(ipc.AllCameras(e.Config.Rig, kind), func(m *nats.Msg) {
		if !e.concerns(m.Subject) || ipc.FromStream(m) {
			return
		}
		defer e.Vigil.Begin()()
		handle(m.Data)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", kind, err)
	}
	return sub, nil
}

// Serves tells whether a camera is this process's.
func (e *Env) Serves(camera string) bool { return e.Share.Has(camera) }

func (e *Env) concerns(subject string) bool {
	if e.Share == nil {
		return true
	}
	_, camera, _, err := ipc.ParseSubject(subject)
	return err == nil && e.Serves(camera)
}

// Drop counts a frame that this stage gives up, and tells the others.
func (e *Env) Drop(f ipc.Frame, reason string) {
	e.Telemetry.Drop(f.Camera, reason)
	e.Drops.Add(f.Camera, reason, f.Seq)
}

// Run is a stage's main function: it works until ctx is done or it cannot go on.
type Run func(ctx context.Context, env *Env) error
