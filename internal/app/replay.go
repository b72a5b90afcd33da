package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/recorder"
	"facetrack/internal/replay"
	"facetrack/internal/stage"
	"facetrack/internal/store"
	"facetrack/ipc"
)

// ReplayCmd feeds a stored session through tracker and lsl-out again.
type ReplayCmd struct {
	StoredFlags
	Session  string   `default:"latest" placeholder:"ID" help:"Session, as facetrack sessions lists them, or latest."`
	Speed    string   `default:"realtime" help:"realtime, max (as fast as the tracker is), or how many times faster."`
	As       string   `placeholder:"NAME" help:"Name of the rig that plays; without it that of the session with -replay."`
	Config   string   `type:"path" help:"Configuration file: its tracker, lsl, synchrony and participants take the place of the session's; where results are is read from it, too."`
	Set      []string `sep:"none" placeholder:"KEY=VALUE" help:"One setting other than in the session, as tracker.smoothing.enabled=false (repeatable)."`
	Record   string   `placeholder:"FILE.jsonl" type:"path" help:"Write the tracks to a new file, with the session's times."`
	XDF      string   `name:"xdf" placeholder:"FILE.xdf" type:"path" help:"Write the streams to a new file, with the session's times."`
	Summary  string   `placeholder:"FILE.json" type:"path" help:"Write the account of all frames to a new file at the end."`
	Listen   string   `placeholder:"HOST:PORT" help:"Let others look on: address of the replay's NATS server; port -1 takes any free one. Without it nobody outside this process reaches it."`
	NoLSL    bool     `name:"no-lsl" help:"Offer no LSL streams."`
	Quiet    bool     `short:"q" help:"No progress and no account."`
	LogLevel string   `default:"warn" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`

	speed replay.Speed
}

// Validate finds flags that do not go together; it is called by the parser.
func (c *ReplayCmd) Validate() (err error) {
	if c.speed, err = replay.ParseSpeed(c.Speed); err != nil {
		return err
	}
	if c.As != "" {
		if err := ipc.CheckToken("--as", c.As); err != nil {
			return err
		}
	}
	return different([]string{"--record", c.Record}, []string{"--xdf", c.XDF}, []string{"--summary", c.Summary})
}

// player is a replay that runs.
type player struct {
	cmd     *ReplayCmd
	session store.Kept
	cfg     config.Config // of the rig that plays
	rig     *rig
	files   recordings
	log     *slog.Logger
	failed  bool // the recording; somebody was told
}

// Run is `facetrack replay`.
func (c *ReplayCmd) Run(ctx context.Context) (err error) {
	here, err := c.configuration(c.Config)
	if err != nil {
		return err
	}
	if c.Summary != "" {
		if err := claimSummary(c.Summary); err != nil {
			return err
		}
	}
	began := false
	defer func() {
		if c.Summary != "" && !began {
			err = errors.Join(err, os.Remove(c.Summary))
		}
	}()
	from, err := openResults(ctx, here)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	p := &player{cmd: c}
	screen := newScreen(os.Stderr, c.Quiet)
	p.log = newLogger(screen, c.LogLevel)
	if p.session, err = from.Session(ctx, c.Session); err != nil {
		return from.explain(err)
	}
	if !slices.Contains(p.session.Kinds, string(ipc.KindLandmarks)) {
		return fmt.Errorf("session %s has no landmarks, which a replay is made from: store.kinds was %s", p.session.ID, p.session.Kinds)
	}
	if p.cfg, err = c.playedWith(&p.session, here, p.log); err != nil {
		return err
	}
	if err := p.start(ctx, screen); err != nil {
		return errors.Join(err, p.discard(), p.stop())
	}
	began = true
	return p.play(ctx, from.Results)
}

// discard removes files in which there is nothing yet.
func (p *player) discard() error {
	err := p.files.discard()
	p.files = recordings{}
	return err
}

// start opens files, server and stages.
func (p *player) start(ctx context.Context, screen *screen) (err error) {
	if p.cmd.Record != "" {
		if p.files.lines, err = recorder.Create(p.cmd.Record); err != nil {
			return err
		}
	}
	if p.cmd.XDF != "" {
		if err := p.startXDF(); err != nil {
			return err
		}
	}
	p.rig = &rig{cmd: &UpCmd{Threads: true}, cfg: p.cfg, screen: screen, log: p.log, begin: time.Now()}
	if p.cmd.Listen != "" {
		err = p.rig.connect(ctx)
	} else {
		err = p.rig.enclose()
	}
	if errors.Is(err, errInUse) {
		return fmt.Errorf("rig %q runs, or a replay of that name does: choose another name with --as", p.cfg.Rig)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{stage.Tracker, stage.LSLOut} {
		p.rig.runners = append(p.rig.runners, startThread(p.rig, name))
	}
	for _, r := range p.rig.runners {
		if err := r.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startXDF opens the file with the streams of the session, as its rig had them.
func (p *player) startXDF() error {
	f, err := createXDF(p.cmd.XDF, p.log)
	if err != nil {
		return err
	}
	p.files.xdf = f
	then, err := p.session.Configuration()
	if err != nil {
		return err
	}
	cfg := p.cfg
	cfg.Cameras = then.Cameras // by their pace streams know how to stamp
	return f.declare(cfg)
}

// enclose connects the rig to a server that nobody else can reach and that keeps nothing.
func (r *rig) enclose() error {
	_, lock, err := claimStore(r.cfg)
	if err != nil {
		return err
	}
	if r.server, err = startPrivate(&server.Options{}, lock); err != nil {
		return errors.Join(err, lock.Close())
	}
	r.url, r.private = inProcess, []nats.Option{nats.InProcessServer(r.server.Server)}
	r.bus, err = r.dial("facetrack-replay", auth.Up, r.log)
	return err
}

// play feeds the session and tells what came of it.
func (p *player) play(ctx context.Context, results *store.Results) error {
	p.rig.screen.note("session %s plays as rig %s%s. Ctrl-C stops it.", p.session.ID, p.cfg.Rig, p.address())
	r, err := replay.New(replay.Options{
		NC: p.rig.bus.Conn, Rig: p.cfg.Rig, Speed: p.cmd.speed, Heard: p.heard, Log: p.log,
		Read: func(ctx context.Context, f func(store.Message) error) error {
			return results.Read(ctx, p.session, replay.Kinds, f)
		},
	})
	if err != nil {
		return errors.Join(err, p.stop())
	}
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, t := range p.rig.runners {
		go func() {
			<-t.Done()
			cancel(fmt.Errorf("the replay stops: %w", cmp.Or(t.Err(), errors.New(t.Name()+" has ended"))))
		}()
	}
	var telling sync.WaitGroup
	over := make(chan struct{})
	telling.Go(func() { p.progress(r, over) })
	err = r.Run(playing, func() { p.settle(playing, r) })
	close(over)
	telling.Wait()
	stopped := ctx.Err() != nil // by the user, who knows
	switch cause := context.Cause(playing); {
	case stopped:
		err = nil
	case cause != nil:
		err = cause
	}
	p.rig.screen.clear()
	a := p.account(r)
	err = errors.Join(err, p.stop(), p.files.close())
	if p.cmd.Summary != "" {
		err = errors.Join(err, a.write(p.cmd.Summary))
	}
	if !p.cmd.Quiet {
		a.print(os.Stdout)
		p.files.report()
	}
	if err == nil && !stopped {
		err = a.verdict()
	}
	return err
}

// progress shows how far it is, until over.
func (p *player) progress(r *replay.Replay, over <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		all := r.Accounts()
		parts := make([]string, 0, len(all))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			parts = append(parts, fmt.Sprintf("%s: %d frames", name, all[name].Tracked))
		}
		p.rig.screen.line(strings.Join(parts, "   "))
	}
}

func (p *player) address() string {
	if p.cmd.Listen == "" {
		return ""
	}
	return " on " + p.rig.url
}

// heard writes what is found into the files.
func (p *player) heard(m ipc.Message) {
	if p.files.xdf != nil {
		set := p.files.xdf.set
		switch m := m.(type) {
		case *ipc.Tracks:
			set.Complain("tracks", set.Tracks(m))
		case *ipc.End:
			set.Complain("end", set.End(m))
		case *ipc.Event:
			set.Complain("event", set.Event(m))
		case *ipc.Synchrony:
			set.Complain("synchrony", set.Synchrony(m))
		}
	}
	t, ok := m.(*ipc.Tracks)
	if !ok || p.files.lines == nil || p.failed {
		return
	}
	line, err := t.AppendJSON(nil)
	if err == nil {
		err = p.files.lines.Line(line)
	}
	if err != nil {
		p.failed = true
		p.log.Error("the replay goes on without recording", "error", err)
	}
}

// settle returns when both stages have worked on all frames that the tracker got: what they say of it was said before they answer.
func (p *player) settle(ctx context.Context, r *replay.Replay) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(stageGrace); time.Now().Before(end); {
		if p.settled(r.Accounts()) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *player) settled(fed map[string]replay.Account) bool {
	names := []string{stage.Tracker}
	if p.cfg.LSL.Enabled {
		names = append(names, stage.LSLOut)
	}
	all, err := monitor.Status(p.rig.bus.Conn, p.cfg.Rig, names, statusWait)
	if err != nil || len(all) != len(names) {
		return false
	}
	for _, s := range all {
		for camera, a := range fed {
			done := s.Cameras[camera].Frames
			if s.Stage == stage.LSLOut {
				done += s.Cameras[camera].Dropped[lslQueueFull]
			}
			if done < a.Tracked {
				return false
			}
		}
	}
	return true
}

// lslQueueFull is why lsl-out leaves a frame out that it has no time for.
const lslQueueFull = "queue-full"

// stop ends the stages, then the server; it is idempotent.
func (p *player) stop() error {
	r := p.rig
	if r == nil {
		return nil
	}
	p.rig = nil
	for _, t := range r.runners {
		t.Stop(stageGrace)
	}
	if r.bus != nil {
		_ = r.bus.Close()
	}
	return r.server.stop()
}

// playedWith is the configuration of the session with what the command line changes, under the name of the replay.
func (c *ReplayCmd) playedWith(s *store.Kept, here config.Config, log *slog.Logger) (config.Config, error) {
	cfg, err := s.Configuration()
	if err != nil {
		return cfg, err
	}
	changes, err := c.changes(log)
	if err != nil {
		return cfg, err
	}
	for _, v := range changes {
		if err := cfg.Set(v.Key, v.Text); err != nil {
			return cfg, err
		}
	}
	cfg.Rig = cmp.Or(c.As, s.Rig+replayed)
	if len(cfg.Rig) > 32 && c.As == "" {
		return cfg, fmt.Errorf("rig %q: with %s the name is too long: choose one with --as", s.Rig, replayed)
	}
	if cfg.Rig == s.Rig {
		return cfg, fmt.Errorf("--as=%s: that is the rig of the session: streams of a replay have to differ from those of the rig, so choose another name", cfg.Rig)
	}
	cfg.DataDir, cfg.NATS, cfg.Store.Enabled = here.DataDir, config.NATS{Listen: cmp.Or(c.Listen, config.Default().NATS.Listen)}, false
	if c.Listen != "" {
		cfg.NATS.Credentials, cfg.NATS.TLS = here.NATS.Credentials, here.NATS.TLS
	}
	if c.NoLSL {
		cfg.LSL.Enabled = false
	}
	for i := range cfg.Cameras {
		cfg.Cameras[i].Pace = "realtime"
		if c.speed == replay.Max { // stamps of streams are as far apart as frames were, as of any recording that is read so
			cfg.Cameras[i].Pace = "max"
		}
	}
	cfg = cfg.Alone()
	cfg.Complete()
	return cfg, cfg.Validate()
}

// replayed follows a rig's name in that of its replay.
const replayed = "-replay"

// playedSummary is the account of a replay, as written by --summary.
type playedSummary struct {
	Session string                   `json:"session"`
	Rig     string                   `json:"rig"`
	Speed   string                   `json:"speed"`
	Whole   bool                     `json:"whole"` // nothing of the session was discarded
	Seconds float64                  `json:"duration_s"`
	Cameras map[string]PlayedAccount `json:"cameras"`
}

// PlayedAccount is that of a camera.
type PlayedAccount struct {
	replay.Account
	LSLDropped uint64 `json:"lsl_dropped"` // tracked frames that lsl-out had no time for
}

func (p *player) account(r *replay.Replay) playedSummary {
	s := playedSummary{
		Session: p.session.ID, Rig: p.cfg.Rig, Speed: p.cmd.Speed, Whole: p.session.Whole, Seconds: time.Since(p.rig.begin).Seconds(),
		Cameras: map[string]PlayedAccount{},
	}
	lsl := map[string]uint64{}
	if p.cfg.LSL.Enabled {
		all, err := monitor.Status(p.rig.bus.Conn, p.cfg.Rig, []string{stage.LSLOut}, statusWait)
		if err != nil {
			p.log.Warn("lsl-out does not say what it left out", "error", err)
		}
		for _, st := range all {
			for camera, c := range st.Cameras {
				lsl[camera] += c.Dropped[lslQueueFull]
			}
		}
	}
	for camera, a := range r.Accounts() {
		s.Cameras[camera] = PlayedAccount{a, lsl[camera]}
	}
	return s
}

func (s playedSummary) write(path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(data, '\n'))
}
