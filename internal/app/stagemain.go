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
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/internal/stage/capture"
	"facetrack/internal/stage/detect"
	"facetrack/internal/stage/landmarks"
	"facetrack/internal/stage/lslout"
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
	NATS     string   `name:"nats" default:"nats://127.0.0.1:4222" help:"NATS server." env:"FACETRACK_NATS"`
	Rig      string   `default:"lab" help:"Name of the rig." env:"FACETRACK_RIG"`
	Config   string   `type:"path" help:"Configuration file; without it the configuration that 'facetrack up' has stored is used."`
	Camera   []string `help:"Work on this camera alone (repeatable; capture)."`
	LogLevel string   `default:"info" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err = flags.run(ctx, name)
	if err == nil {
		return 0
	}
	report(name, err)
	if errors.Is(err, stage.ErrPermanent) {
		return supervise.ExitConfig
	}
	return 1
}

// report says why the stage ends, in one line: to the parent if there is one, else to the terminal or journal.
func report(name string, err error) {
	line := oneLine(err)
	_, _ = daemon.SdNotify(false, "STATUS="+line)
	if os.Getenv(supervisedEnv) == "" {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, line)
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (f *StageFlags) run(ctx context.Context, name string) error {
	log := newLogger(os.Stderr, f.LogLevel).With("stage", name)
	nc, err := ipc.Connect(f.NATS, telemetry.ServiceName(name), log)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	bucket, err := openBucket(ctx, nc.Conn, f.Rig)
	if err != nil && f.Config == "" {
		return err
	}
	cfg, err := f.configuration(ctx, bucket)
	if err != nil {
		return err
	}
	return RunStage(ctx, name, cfg, f.NATS, nc.Conn, bucket, log, func() { _, _ = daemon.SdNotify(false, daemon.SdNotifyReady) })
}

func (f *StageFlags) configuration(ctx context.Context, bucket *ipc.Bucket) (config.Config, error) {
	var cfg config.Config
	var err error
	if f.Config != "" {
		cfg, err = config.Load(f.Config)
	} else {
		cfg, err = storedConfig(ctx, bucket, f.Rig)
	}
	if err != nil || len(f.Camera) == 0 {
		return cfg, stage.Permanent(err)
	}
	all := cfg.Cameras
	cfg.Cameras = slices.DeleteFunc(slices.Clone(all), func(c config.Camera) bool { return !slices.Contains(f.Camera, c.Name) })
	if len(cfg.Cameras) != len(f.Camera) {
		return cfg, stage.Permanent(fmt.Errorf("--camera %v: not all of them are in the configuration", f.Camera))
	}
	return cfg, nil
}

func openBucket(ctx context.Context, nc *nats.Conn, rig string) (*ipc.Bucket, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return ipc.OpenBucket(ctx, js, rig)
}

func storedConfig(ctx context.Context, bucket *ipc.Bucket, rig string) (config.Config, error) {
	var cfg config.Config
	if _, err := bucket.Config(ctx, &cfg); err != nil {
		return cfg, fmt.Errorf("no stored configuration for rig %q: name a file with --config: %w", rig, err)
	}
	return cfg, cfg.Validate()
}

// RunStage runs a stage over an open connection until ctx is done or it cannot go on.
func RunStage(ctx context.Context, name string, cfg config.Config, url string, nc *nats.Conn, bucket *ipc.Bucket, log *slog.Logger, ready func()) error {
	recorder := telemetry.New(name)
	service, err := telemetry.Serve(nc, cfg.Rig, recorder)
	if err != nil {
		return err
	}
	defer func() { _ = service.Stop() }()
	drops := ipc.NewDrops(nc, cfg.Rig, name, log)
	env := &stage.Env{
		Name: name, Config: cfg, Bus: nc, Out: ipc.NewPublisher(nc), Bucket: bucket, Telemetry: recorder, Drops: drops, Log: log,
		Dial: func(name string) (*ipc.Conn, error) { return ipc.Connect(url, name, log) },
		Ready: func() {
			if err := nc.FlushTimeout(5 * time.Second); err != nil { // the server knows the subscriptions now
				log.Warn("NATS server is slow to answer", "error", err)
			}
			ready()
		},
	}
	err = stages[name](ctx, env)
	return errors.Join(err, drops.Close())
}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
