package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
	"facetrack/internal/stage"
	"facetrack/internal/stage/networks"
	"facetrack/internal/store"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// rig is everything that `up` has started; close ends it in the right order.
type rig struct {
	cmd         *UpCmd
	cfg         config.Config
	log         *slog.Logger
	screen      *screen
	begin       time.Time
	server      *bus // nil with --nats
	url         string
	access      auth.Access
	private     []nats.Option // of connections to a server within this process
	bus         *ipc.Conn
	bucket      *ipc.Bucket
	settings    *ipc.Settings
	revision    uint64          // of cfg, when the rig started
	gone        []config.Camera // cameras that were removed since
	record      *recorder.File  // nil without --record
	xdf         *xdfFile        // nil without --xdf
	keeper      *store.Keeper   // nil where results are not stored
	monitor     *monitor.Monitor
	runners     []runner                   // in the order of the data flow, capture first
	last        map[string]telemetry.Stats // what each stage said last
	interrupted bool                       // by the user
	statusMu    sync.Mutex                 // guards last
	claimed     bool                       // the summary file is this run's
	started     bool                       // all stages were ready
}

// Run is `facetrack up`.
func (u *UpCmd) Run(ctx context.Context) error {
	loaded, err := u.load()
	if err != nil {
		return err
	}
	cfg := loaded.Config
	if err := absolute(&cfg); err != nil {
		return err
	}
	if err := networks.Choose(&cfg); err != nil {
		return err
	}
	keeper, err := keepAwake(u.Awake)
	if err != nil {
		return err
	}
	defer func() { _ = keeper.Close() }()
	screen := newScreen(os.Stderr, u.Quiet)
	r := &rig{
		cmd: u, cfg: cfg, screen: screen, log: newLogger(screen, u.LogLevel), begin: time.Now(), last: map[string]telemetry.Stats{},
	}
	for _, w := range loaded.Warnings {
		r.log.Warn("configuration", "warning", w)
	}
	runErr := r.start(ctx)
	if runErr == nil {
		runErr = r.watch(ctx)
	}
	if ctx.Err() != nil && errors.Is(runErr, context.Canceled) {
		runErr = nil // stopped by the user while starting
	}
	screen.clear()
	return errors.Join(runErr, r.close())
}

// start brings everything up; capture comes last, when all others take part in the flow.
func (r *rig) start(ctx context.Context) (err error) {
	if r.cmd.Record != "" {
		if r.record, err = recorder.Create(r.cmd.Record); err != nil {
			return err
		}
	}
	if r.cmd.XDF != "" {
		if r.xdf, err = createXDF(r.cmd.XDF, r.log); err != nil {
			return err
		}
	}
	if r.cmd.Summary != "" {
		if err := claimSummary(r.cmd.Summary); err != nil {
			return err
		}
		r.claimed = true
	}
	if err := r.connect(ctx); err != nil {
		return err
	}
	stale, err := gpuring.CleanStale(r.cfg.Ring.Dir, r.cfg.Rig)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		r.log.Info("removed what a dead run had left", "files", stale)
	}
	if r.monitor, err = monitor.Start(r.bus.Conn, r.cfg.Rig, r.record, r.log); err != nil {
		return err
	}
	if r.xdf != nil {
		if err := r.xdf.follow(r.bus.Conn, r.cfg); err != nil {
			return err
		}
	}
	if err := r.startStages(ctx); err != nil {
		return err
	}
	r.started = true
	return nil
}

// connect starts or finds the NATS server and stores the configuration there for the stages.
func (r *rig) connect(ctx context.Context) (err error) {
	r.url, r.access = r.cfg.NATS.URL, auth.Access{Credentials: r.cfg.NATS.Credentials, CA: r.cfg.NATS.TLS.CA}
	if r.url == "" {
		if r.server, err = startBus(ctx, r.cfg, r.log); err != nil {
			return err
		}
		r.url = r.server.url()
	}
	if r.bus, err = dial(r.url, "facetrack-up", auth.Up, r.access, r.log); err != nil {
		return err
	}
	if r.bucket, err = openBucket(ctx, r.bus.Conn, r.cfg.Rig, auth.Up); err != nil {
		return err
	}
	running, err := monitor.Status(r.bus.Conn, r.cfg.Rig, stage.Names, statusEvery)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		return fmt.Errorf("rig %q already runs on %s (%d processes answer): choose another name with --rig", r.cfg.Rig, r.url, len(running))
	}
	if r.settings, err = openSettings(ctx, r.bus.Conn, r.cfg.Rig, auth.Up); err != nil {
		return err
	}
	if r.revision, err = beginRun(ctx, r.bucket, r.settings, r.cfg, "facetrack up"); err != nil {
		return err
	}
	r.keeper = beginSession(ctx, r.bus.Conn, r.cfg, r.log)
	keepHosts(ctx, r.bus.Conn, r.cfg, r.log)
	return nil
}

// beginRun forgets what the last run of the rig left in its bucket, and stores the configuration of the next.
func beginRun(ctx context.Context, bucket *ipc.Bucket, settings *ipc.Settings, cfg config.Config, what string) (revision uint64, err error) {
	if err := bucket.ClearRun(ctx); err != nil {
		return 0, fmt.Errorf("forget the last run: %w", err)
	}
	revision, err = storeConfig(ctx, settings, cfg, what)
	if err != nil {
		return 0, fmt.Errorf("store the configuration: %w", err)
	}
	return revision, nil
}

// watch shows progress until the rig is done: nil when every source has ended, the time is over or the user
// stops it; an error when a stage cannot go on.
func (r *rig) watch(ctx context.Context) error {
	r.screen.note("rig %s is up on %s: %d camera(s). Ctrl-C stops it.", r.cfg.Rig, r.url, len(r.cfg.Cameras))
	r.screen.note("detect: %s", modelLine(r.cfg.Detect.Model, r.cfg.Detect.ModelReason))
	r.screen.note("landmarks: %s", modelLine(r.cfg.Landmarks.Model, r.cfg.Landmarks.ModelReason))
	var over <-chan time.Time
	if r.cmd.Duration > 0 {
		timer := time.NewTimer(r.cmd.Duration)
		defer timer.Stop()
		over = timer.C
	}
	polling, stopPolling := context.WithCancel(ctx)
	var poll sync.WaitGroup
	poll.Go(func() { r.pollStatus(polling) })
	if r.keeper != nil {
		r.screen.note("results are stored as session %s", r.keeper.Session().ID)
		poll.Go(func() { r.watchStore(polling) })
	}
	defer poll.Wait() // its last answer must not come in between while the rig is closed
	defer stopPolling()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	changes, err := r.settings.Watch(polling)
	if err != nil {
		return err
	}
	for beat := 0; ; beat++ {
		select {
		case <-ctx.Done():
			r.interrupted = true
			r.screen.note("stopping …")
			return nil
		case <-over:
			return nil
		case c, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			r.follow(c)
			continue
		case <-tick.C:
		}
		open := r.monitor.Ledger.Settle(time.Now())
		if open == 0 && r.monitor.Ledger.AllEnded(cameraNames(r.cfg)) {
			return nil
		}
		if err := r.failed(); err != nil {
			return err
		}
		if beat%5 == 0 {
			r.screen.progress(r.monitor.Ledger.Summaries())
		}
	}
}

// failed returns the error of a stage that cannot go on.
func (r *rig) failed() error {
	for _, p := range r.runners {
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// claimSummary makes the file before the run, not after it: what cannot be written shows at once, and an existing
// file, be it an earlier summary, a recording or a clip, is never overwritten.
func claimSummary(path string) error {
	f, err := recorder.CreateNew("summary", path)
	if err != nil {
		return err
	}
	return f.Close()
}
