package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/app/supervise"
	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/fault"
	"facetrack/internal/stage"
	"facetrack/internal/stage/capture"
	"facetrack/internal/stage/detect"
	"facetrack/internal/stage/landmarks"
	"facetrack/internal/stage/lslout"
	"facetrack/internal/stage/networks"
	"facetrack/internal/stage/tracker"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

// stages maps the name of a stage to its main function.
var stages = map[string]stage.Run{
	stage.Capture:   capture.Run,
	stage.Detect:    detect.Run,
	stage.Landmarks: landmarks.Run,
	stage.Tracker:   tracker.Run,
	stage.LSLOut:    lslout.Run,
}

// supervisedEnv tells a child that its parent prints its last error, which it sends as STATUS of sd_notify.
const supervisedEnv = "FACETRACK_SUPERVISED"

// StageFlags are the flags of a stage's own program.
type StageFlags struct {
	NATS   string   `name:"nats" help:"NATS server; without it that of the configuration file, or nats://127.0.0.1:4222." env:"FACETRACK_NATS"`
	Rig    string   `help:"Name of the rig; without it that of the configuration file, or lab." env:"FACETRACK_RIG"`
	Config string   `type:"path" help:"Configuration file, for a rig that has none stored; what 'facetrack up' or 'facetrack config' has stored wins."`
	Camera []string `help:"Work on this camera alone (repeatable)."`
	GPU    string   `name:"gpu" help:"Work on the cameras of this GPU alone, a number or cpu, with the networks on it. Other processes have the other cameras."`
	Wait   bool     `help:"Wait for the NATS server, and for what it stores, as long as it takes."`
	AccessFlags
	LogLevel string `default:"info" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`
}

// StageMain is the main function of cmd/capture and its siblings. It returns the exit status.
func StageMain(name string, args []string) int {
	var flags StageFlags
	parser, err := kong.New(&flags, kong.Name(name), kong.Description("The "+name+" stage of facetrack. 'facetrack up' starts all stages together."))
	if err != nil {
		panic(err) // the flags above are wrong
	}
	if _, err := parser.Parse(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 2
	}
	planFaults(name)
	signal.Ignore(syscall.SIGPIPE) // a parent that is gone reads no log: this process still ends in order
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	err = flags.run(ctx, name)
	if err == nil {
		if ctx.Err() == nil {
			notify(supervise.Done)
		}
		return 0
	}
	report(name, err)
	if errors.Is(err, stage.ErrPermanent) {
		return supervise.ExitConfig
	}
	return 1
}

// planFaults adds the faults of this stage alone to those of all processes: FACETRACK_FAULTS_LSL_OUT for lsl-out.
func planFaults(name string) {
	own := fault.Variable + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if list := os.Getenv(own); list != "" {
		fault.Plan(os.Getenv(fault.Variable) + "," + list)
	}
}

// report says why the stage ends, in one line: to the parent if there is one, else to the terminal or journal.
func report(name string, err error) {
	line := oneLine(err)
	notify("STATUS=" + line)
	if !supervised() {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, line)
	}
}

// notify tells a parent or service manager, if there is one.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

func supervised() bool { return os.Getenv(supervisedEnv) != "" }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (f *StageFlags) run(ctx context.Context, name string) error {
	log := newLogger(os.Stderr, f.LogLevel).With("stage", name)
	at, err := f.place()
	if err != nil {
		return stage.Permanent(err)
	}
	connect := func(as string) (*ipc.Conn, error) {
		return dial(at.url, as, auth.Role(name), at.access, log, quietly()...)
	}
	context.AfterFunc(ctx, func() { notify(daemon.SdNotifyStopping) })
	met, err := f.meet(ctx, name, at, connect, log)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // told to end while it waited
	}
	if err != nil {
		return lastingAccess(err)
	}
	defer func() { _ = met.bus.Close() }()
	cfg, revision, err := f.configuration(ctx, met.settings, log)
	if errors.Is(err, errUnread) {
		return err // by the next process
	}
	if err != nil {
		return stage.Permanent(err)
	}
	share, err := f.share(name, at.url, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = share.Close() }()
	return RunStage(ctx, name, Surroundings{
		Config: cfg, Dial: connect, Bus: met.bus, Bucket: met.bucket, Settings: met.settings, Revision: revision, Mine: f.mine, Share: share,
		Log: log, Renewed: true,
		Ready: func() { notify(daemon.SdNotifyReady) },
		Ended: func(camera string, last uint64) { notify(supervise.Note(fmt.Sprintf("%s %d", camera, last))) },
	})
}

// quietly: a supervised stage leaves it to its parent to say that the server is gone, and back.
func quietly() []nats.Option {
	if !supervised() {
		return nil
	}
	return []nats.Option{
		nats.DisconnectErrHandler(func(*nats.Conn, error) {}), nats.ReconnectHandler(func(*nats.Conn) {}),
	}
}

// configuration is the one that is stored for the rig, else the file's; flags win. Its revision is 0 if it is the file's.
func (f *StageFlags) configuration(ctx context.Context, settings *ipc.Settings, log *slog.Logger) (cfg config.Config, revision uint64, err error) {
	cfg, revision, err = storedConfig(ctx, settings, log)
	switch {
	case err == nil && f.Config != "":
		log.Info("the configuration that is stored for the rig counts, not the file", "revision", revision, "file", f.Config)
	case f.Config != "" && !errors.Is(err, errUnread):
		if !errors.Is(err, errNothingStored) {
			log.Error("nothing that is stored for the rig is a configuration: the file counts", "file", f.Config, "error", err)
		}
		cfg, err = readConfig(f.Config, log)
	}
	if err != nil {
		return cfg, 0, err
	}
	set(&cfg.Rig, f.Rig)
	if err := cfg.Validate(); err != nil { // as a whole: participants and pairs may be of other processes' cameras
		return cfg, 0, err
	}
	return cfg, revision, f.checkShare(cfg)
}

// readConfig reads a file and the environment.
func readConfig(path string, log *slog.Logger) (config.Config, error) {
	l, err := readLoaded(path, log)
	if err != nil {
		return config.Config{}, err
	}
	return l.Config, nil
}

// readLoaded is readConfig that also knows where values come from.
func readLoaded(path string, log *slog.Logger) (*config.Loaded, error) {
	l, err := config.Read(path, os.Environ())
	if err == nil {
		err = l.Finish()
	}
	if err != nil {
		return nil, err
	}
	for _, w := range l.Warnings {
		log.Warn("configuration", "warning", w)
	}
	return l, nil
}

// openBucket opens a rig's bucket. Where processes have roles, facetrack up alone may make it; without a role anybody does.
func openBucket(ctx context.Context, nc *nats.Conn, rig string, role auth.Role) (*ipc.Bucket, error) {
	return openStored(ctx, nc, rig, role, ipc.FindBucket, ipc.OpenBucket)
}

// openSettings opens what holds a rig's configuration, which is made by the same.
func openSettings(ctx context.Context, nc *nats.Conn, rig string, role auth.Role) (*ipc.Settings, error) {
	return openStored(ctx, nc, rig, role, ipc.FindSettings, ipc.OpenSettings)
}

type openFunc[T any] func(ctx context.Context, js jetstream.JetStream, rig string) (*T, error)

func openStored[T any](ctx context.Context, nc *nats.Conn, rig string, role auth.Role, find, open openFunc[T]) (*T, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if role != "" && role != auth.Up {
		open = find
	}
	stored, err := open(ctx, js, rig)
	if err == nil {
		return stored, nil
	}
	if refused := denied(nc, rig); refused != nil {
		return nil, refused
	}
	return nil, err
}

// errNothingStored says that a process has no configuration.
var errNothingStored = errors.New("no configuration is stored for this rig: name a file with --config")

// errUnread says that a server did not give what it may have: another try may be better.
var errUnread = errors.New("the stored configuration cannot be read")

// storedConfig is what counts of the configurations that are stored for the rig: the latest that is valid.
func storedConfig(ctx context.Context, settings *ipc.Settings, log *slog.Logger) (config.Config, uint64, error) {
	if settings == nil {
		return config.Config{}, 0, errNothingStored
	}
	latest, err := settings.Latest(ctx)
	if errors.Is(err, ipc.ErrNoKey) {
		return config.Config{}, 0, fmt.Errorf("%w: %w", errNothingStored, err)
	}
	if err != nil {
		return config.Config{}, 0, fmt.Errorf("%w: %w", errUnread, err)
	}
	doc, err := config.ParseDocument(revisionName(latest.Number), latest.Text)
	if err == nil {
		return doc.Config, latest.Number, nil
	}
	all, historyErr := settings.History(ctx)
	if historyErr != nil {
		return config.Config{}, 0, fmt.Errorf("%w: %w", errUnread, historyErr)
	}
	for _, r := range slices.Backward(all) {
		if doc, older := config.ParseDocument(revisionName(r.Number), r.Text); older == nil && len(r.Text) > 0 {
			log.Error("the configuration stored last is refused: the one before counts", "revision", latest.Number, "before", r.Number, "error", err)
			return doc.Config, r.Number, nil
		}
	}
	return config.Config{}, 0, err
}

func revisionName(n uint64) string { return fmt.Sprintf("revision %d", n) }

// Surroundings are what a stage needs from the process that it runs in.
type Surroundings struct {
	Config config.Config
	Dial   func(name string) (*ipc.Conn, error) // further connections to the same server
	Bus    *ipc.Conn
	Bucket *ipc.Bucket // nil when the server keeps no state
	// Settings is where changes of the configuration come from, nil when the server keeps no state; Revision is that of Config,
	// 0 if it is from a file.
	Settings *ipc.Settings
	Revision uint64
	Mine     func(config.Config) config.Config // what this process works on; nil: all of it
	Share    *stage.Share                      // nil when this is the only process of the stage
	Log      *slog.Logger
	Ready    func()
	// Renewed tells that another process follows when the stage ends with an error.
	Renewed bool
	Ended   func(camera string, last uint64)
}

// RunStage runs a stage over an open connection until ctx is done or it cannot go on.
func RunStage(ctx context.Context, name string, s Surroundings) error {
	rig := s.Config.Rig
	recorder := telemetry.New(name)
	if name != stage.Capture { // which knows nothing of faces
		if err := networks.Choose(&s.Config); err != nil {
			return stage.Permanent(err)
		}
	}
	switch name {
	case stage.Detect:
		recorder.Model(s.Config.Detect.Model, s.Config.Detect.ModelReason)
	case stage.Landmarks:
		recorder.Model(s.Config.Landmarks.Model, s.Config.Landmarks.ModelReason)
	}
	live := &stage.Live{Config: s.Config, Revision: s.Revision, Settings: s.Settings, Bus: s.Bus.Conn, Mine: s.Mine}
	recorder.Configuration(telemetry.Configuration{Revision: s.Revision})
	if s.Mine != nil {
		s.Config = s.Mine(s.Config)
	}
	recorder.SetBus(s.Bus.SlowConsumers)
	recorder.Cameras(cameraNames(s.Config))
	gpus := watchGPUs(name, s.Config, recorder)
	defer func() { _ = gpus.Close() }()
	service, err := telemetry.Serve(s.Bus.Conn, rig, recorder)
	if err != nil {
		return err
	}
	defer func() { _ = service.Stop() }()
	drops := ipc.NewDrops(s.Bus.Conn, rig, name, s.Log)
	env := &stage.Env{
		Name: name, Config: s.Config, Bus: s.Bus.Conn, Out: ipc.NewPublisher(s.Bus.Conn), Bucket: s.Bucket,
		Telemetry: recorder, Drops: drops, Log: s.Log, Ended: s.Ended, Renewed: s.Renewed, Live: live,
		Share: s.Share, Vigil: &stage.Vigil{},
		Dial: s.Dial,
		Ready: func() {
			if err := s.Bus.FlushTimeout(5 * time.Second); err != nil { // the server knows the subscriptions now
				s.Log.Warn("NATS server is slow to answer", "error", err)
			}
			s.Ready()
		},
	}
	if s.Renewed { // a process of its own
		defer watchdog(func() error { return alive(env) }, s.Log)()
	}
	err = stages[name](ctx, env)
	if closeErr := drops.Close(); closeErr != nil { // the ledger writes those frames off by itself
		s.Log.Debug("last drop notices not sent", "error", closeErr)
	}
	return err
}

// watchGPUs has the stages that may use a GPU tell how busy those of the machine are; nil where none is wanted.
func watchGPUs(name string, cfg config.Config, r *telemetry.Recorder) *telemetry.GPUs {
	if cfg.CUDA.GPU == "off" || name != stage.Capture && !slices.Contains(stage.Readers, name) {
		return nil
	}
	gpus := telemetry.NewGPUs()
	r.SetGPUs(gpus.Now)
	return gpus
}

func cameraNames(cfg config.Config) []string {
	names := make([]string, len(cfg.Cameras))
	for i, c := range cfg.Cameras {
		names[i] = c.Name
	}
	return names
}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
