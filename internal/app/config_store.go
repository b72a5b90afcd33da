package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// errNoConfig says that a rig has no configuration.
var errNoConfig = errors.New("no configuration is stored")

// configStore is the configuration of a rig, and the rig.
type configStore struct {
	BusFlags
	nc       *ipc.Conn
	settings *ipc.Settings
}

// openStore connects to a rig's server. The rig must have a configuration, unless one is to be made.
func openStore(ctx context.Context, f BusFlags, role auth.Role, create bool) (*configStore, error) {
	nc, err := dial(f.NATS, "facetrack-config", role, f.access(), slog.New(slog.DiscardHandler)) // one line is enough to say what is wrong
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc.Conn)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	s := &configStore{BusFlags: f, nc: nc}
	if create {
		s.settings, err = ipc.OpenSettings(ctx, js, f.Rig)
	} else {
		s.settings, err = ipc.FindSettings(ctx, js, f.Rig)
	}
	if err != nil {
		if refused := denied(nc.Conn, f.Rig); refused != nil {
			err = refused
		}
		return nil, errors.Join(s.explain(err), nc.Close())
	}
	return s, nil
}

func (s *configStore) close() { _ = s.nc.Close() }

func (s *configStore) explain(err error) error {
	if errors.Is(err, ipc.ErrNoKey) {
		return fmt.Errorf("%w for rig %q on %s: start it with facetrack up, store a file with facetrack config put, or name the rig with --rig", errNoConfig, s.Rig, s.NATS)
	}
	return err
}

// history lists the revisions, the oldest first; there is at least one.
func (s *configStore) history(ctx context.Context) ([]ipc.Revision, error) {
	all, err := s.settings.History(ctx)
	if err == nil && len(all) == 0 {
		err = s.explain(ipc.ErrNoKey)
	}
	return all, err
}

// revision finds one that is kept.
func (s *configStore) revision(ctx context.Context, n uint64) (config.Config, error) {
	all, err := s.history(ctx)
	if err != nil {
		return config.Config{}, err
	}
	for _, r := range all {
		if r.Number == n {
			d, err := config.ParseDocument(revisionName(n), r.Text)
			return d.Config, err
		}
	}
	return config.Config{}, fmt.Errorf("there is no revision %d: the ones kept are %d to %d", n, all[0].Number, all[len(all)-1].Number)
}

// current is the configuration in effect and the number of the revision stored last, which may be one that was refused.
func (s *configStore) current(ctx context.Context) (config.Config, uint64, error) {
	all, err := s.history(ctx)
	if err != nil {
		return config.Config{}, 0, err
	}
	last := all[len(all)-1].Number
	for _, r := range slices.Backward(all) {
		if d, err := config.ParseDocument(revisionName(r.Number), r.Text); err == nil {
			return d.Config, last, nil
		}
	}
	return config.Config{}, last, fmt.Errorf("%w: no revision is valid", errNoConfig)
}

// process is one that runs, and has to confirm a change.
type process struct {
	stage string
	pid   int
}

func (p process) String() string { return fmt.Sprintf("%s (process %d)", p.stage, p.pid) }

func (s *configStore) running() (all []telemetry.Stats, err error) {
	return monitor.Status(s.nc.Conn, s.Rig, stage.Names, statusWait)
}

// change stores what edit makes of the configuration in effect, and returns once all processes have taken it over.
func (s *configStore) change(ctx context.Context, what string, wait time.Duration, edit func(*config.Config) error) error {
	before, last, err := s.current(ctx)
	if err != nil {
		return err
	}
	next := before
	next.Cameras, next.Participants = slices.Clone(before.Cameras), slices.Clone(before.Participants)
	if err := edit(&next); err != nil {
		return err
	}
	next.Complete()
	if err := absolute(&next); err != nil {
		return err
	}
	if err := next.Validate(); err != nil {
		return err
	}
	changes := config.Changes(before, next)
	if len(changes) == 0 {
		fmt.Println("nothing changes")
		return nil
	}
	running, err := s.running()
	if err != nil {
		return err
	}
	if len(running) > 0 {
		if next, err = before.Follow(next); err != nil {
			return err
		}
	}
	revision, err := s.save(ctx, what, wait, &before, next, last, running)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Println(c)
	}
	fmt.Printf("revision %d is in effect in %d process(es)\n", revision, len(running))
	return nil
}

// save stores a configuration after the revision last. If a process refuses it, the one before is put back; nil: there was none.
func (s *configStore) save(ctx context.Context, what string, wait time.Duration, before *config.Config, next config.Config, last uint64, running []telemetry.Stats) (uint64, error) {
	heard, stop, err := ipc.HearApplied(s.nc.Conn, s.Rig)
	if err != nil {
		return 0, err
	}
	defer stop()
	revision, err := putConfig(ctx, s.settings, next, what, last)
	if errors.Is(err, ipc.ErrConflict) {
		return 0, s.conflict(ctx)
	}
	if err != nil {
		return 0, err
	}
	refused, missing := s.confirmed(heard, revision, running, wait)
	if len(refused) > 0 {
		return 0, s.undo(ctx, revision, before, strings.Join(refused, "; "))
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("revision %d is stored, but after %s it is not confirmed by %s; see facetrack status", revision, wait, strings.Join(missing, ", "))
	}
	return revision, nil
}

// undo takes a revision back that somebody refuses, and says so.
func (s *configStore) undo(ctx context.Context, revision uint64, before *config.Config, refused string) error {
	if before == nil {
		if err := s.settings.Delete(ctx, revision); err != nil {
			return fmt.Errorf("revision %d is refused by %s; it could not be deleted: %w", revision, refused, err)
		}
		return fmt.Errorf("revision %d is refused by %s; it is deleted again", revision, refused)
	}
	back, err := putConfig(ctx, s.settings, *before, fmt.Sprintf("put back: revision %d was refused", revision), revision)
	if err != nil {
		return fmt.Errorf("revision %d is refused by %s; what was before could not be put back: %w", revision, refused, err)
	}
	return fmt.Errorf("revision %d is refused by %s; what was before is put back as revision %d", revision, refused, back)
}

func (s *configStore) conflict(ctx context.Context) error {
	latest, err := s.settings.Latest(ctx)
	if err != nil {
		return errors.Join(ipc.ErrConflict, err)
	}
	by, what := "somebody", "a change"
	if d, err := config.ParseDocument(revisionName(latest.Number), latest.Text); err == nil && d.About.By != "" {
		by, what = d.About.By, d.About.What
	}
	return fmt.Errorf("the configuration was changed meanwhile (revision %d, %s: %s): nothing was stored; look at it with facetrack config get and try again", latest.Number, by, what)
}

// confirmed waits until every process has said what it does about a revision: who refuses it and why, and who says nothing.
func (s *configStore) confirmed(heard <-chan ipc.Applied, revision uint64, running []telemetry.Stats, wait time.Duration) (refused, missing []string) {
	pending := map[process]bool{}
	for _, p := range running {
		pending[process{p.Stage, p.PID}] = true
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for len(pending) > 0 {
		select {
		case a := <-heard:
			p := process{a.Stage, a.PID}
			if a.Revision < revision || !pending[p] {
				continue
			}
			delete(pending, p)
			if a.Refused != "" {
				refused = append(refused, fmt.Sprintf("%s: %s", p.stage, oneLine(errors.New(a.Refused))))
			}
		case <-over.C:
			return refused, s.silent(pending, revision)
		}
	}
	return refused, nil
}

// silent are those that have neither taken the revision over nor made way for a process that has.
func (s *configStore) silent(pending map[process]bool, revision uint64) (names []string) {
	now, err := s.running()
	if err != nil {
		now = nil
	}
	for p := range pending {
		if !slices.ContainsFunc(now, func(n telemetry.Stats) bool { return n.Stage == p.stage && n.Config.Revision >= revision }) {
			names = append(names, p.String())
		}
	}
	slices.Sort(names)
	return names
}
