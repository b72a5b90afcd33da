package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/gpuring"
	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/stage/networks"
	"facetrack/ipc"
)

// answerTime is how long the embedded server may take to answer its own process.
const answerTime = 2 * time.Second

// errUnfit is wrapped by errors of a service that no restart cures.
var errUnfit = errors.New("cannot run")

// NATSCmd runs the server that `facetrack up` has within it as a process of its own.
type NATSCmd struct {
	Config  string `type:"path" help:"Configuration file."`
	Listen  string `placeholder:"HOST:PORT" help:"Address; port -1 takes any free one."`
	DataDir string `placeholder:"DIR" type:"path" help:"Where it keeps its data."`
	Rig     string `help:"Name of the rig."`

	Credentials string `placeholder:"DIR" type:"path" env:"FACETRACK_CREDENTIALS" help:"Keys and certificates that 'facetrack auth init' has made; without them it listens on loopback addresses alone."`
	TLSCert     string `name:"tls-cert" placeholder:"FILE" type:"path" env:"FACETRACK_TLS_CERT" help:"Certificate of the server instead of the one of --credentials; goes with --tls-key."`
	TLSKey      string `name:"tls-key" placeholder:"FILE" type:"path" env:"FACETRACK_TLS_KEY" help:"Its key."`

	LogLevel string `default:"info" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`
}

// Run is `facetrack nats`.
func (c *NATSCmd) Run(ctx context.Context) error {
	log := newLogger(os.Stderr, c.LogLevel)
	cfg, err := readConfig(c.Config, log)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	set(&cfg.NATS.Listen, c.Listen)
	set(&cfg.DataDir, c.DataDir)
	set(&cfg.Rig, c.Rig)
	set(&cfg.NATS.Credentials, c.Credentials)
	set(&cfg.NATS.TLS.Cert, c.TLSCert)
	set(&cfg.NATS.TLS.Key, c.TLSKey)
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	if cfg.NATS.URL != "" {
		log.Warn("the configuration names another server, which the rig uses", "url", cfg.NATS.URL)
	}
	server, err := startBus(ctx, cfg, log)
	if err != nil {
		return unfitAccess(err)
	}
	log.Info("NATS server ready", "url", server.url(), "data", cfg.DataDir)
	notify(daemon.SdNotifyReady + "\nSTATUS=" + server.url())
	stop := watchdog(server.answers, log)
	<-ctx.Done()
	notify(daemon.SdNotifyStopping)
	stop()
	return server.stop()
}

// unfitAccess marks errors of access that no restart of a service cures.
func unfitAccess(err error) error {
	if lasting(err) {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return err
}

// answers asks the server for what a client would.
func (b *bus) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	nc, err := nats.Connect("", append(b.own, nats.InProcessServer(b), nats.Timeout(answerTime))...)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.AccountInfo(ctx)
	}
	return err
}

// BeginCmd does what `facetrack up` does before it starts its processes, where a service manager starts them.
type BeginCmd struct {
	Config string `type:"path" help:"Configuration file."`
	NATS   string `name:"nats" placeholder:"URL" env:"FACETRACK_NATS" help:"NATS server; without it that of the configuration file."`
	Rig    string `help:"Name of the rig." env:"FACETRACK_RIG"`
	Wait   bool   `help:"Wait for the server as long as it takes."`
	AccessFlags
	LogLevel string `default:"info" enum:"debug,info,warn,error" help:"Least level of log lines: ${enum}."`
}

// Run is `facetrack begin`.
func (c *BeginCmd) Run(ctx context.Context) error {
	log := newLogger(os.Stderr, c.LogLevel)
	cfg, err := readConfig(c.Config, log)
	set(&cfg.Rig, c.Rig)
	if err := cmp.Or(err, cfg.Validate(), networks.Choose(&cfg)); err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	url, err := serverURL(c.NATS, cfg.NATS)
	if err != nil {
		return err
	}
	err = persist(ctx, c.Wait, log, func() error {
		nc, err := dial(url, "facetrack-begin", auth.Up, c.or(cfg.NATS), log)
		if err != nil {
			return err
		}
		defer func() { _ = nc.Close() }()
		keepHosts(ctx, nc.Conn, cfg, log)
		return begin(ctx, nc, cfg, log)
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // told to end while it waited
	}
	return unfitAccess(err)
}

// begin leaves a run that goes on alone, but for a configuration that was edited since the last begin.
func begin(ctx context.Context, nc *ipc.Conn, cfg config.Config, log *slog.Logger) error {
	bucket, err := openBucket(ctx, nc.Conn, cfg.Rig, auth.Up)
	if err != nil {
		return err
	}
	settings, err := openSettings(ctx, nc.Conn, cfg.Rig, auth.Up)
	if err != nil {
		return err
	}
	running, err := monitor.Status(nc.Conn, cfg.Rig, stage.Names, statusEvery)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		fmt.Printf("rig %s runs already (%d processes answer): its people keep their numbers\n", cfg.Rig, len(running))
		if begun, err := lastBegun(ctx, settings); err != nil || begun != nil && sameConfig(*begun, cfg) {
			return err // what was changed while the rig runs stays
		}
		_, err := storeConfig(ctx, settings, cfg, beginning)
		return err
	}
	if _, err := gpuring.CleanStale(cfg.Ring.Dir, cfg.Rig); err != nil {
		return err
	}
	if _, err = beginRun(ctx, bucket, settings, cfg, beginning); err == nil {
		beginSession(ctx, nc.Conn, cfg, log) // whose end the next one finds
	}
	return err
}

const beginning = "facetrack begin"

// lastBegun is the configuration that a begin stored last, nil when none did.
func lastBegun(ctx context.Context, settings *ipc.Settings) (*config.Config, error) {
	all, err := settings.History(ctx)
	for _, r := range slices.Backward(all) {
		if d, err := config.ParseDocument(revisionName(r.Number), r.Text); err == nil && d.About.What == beginning {
			return &d.Config, nil
		}
	}
	return nil, err
}

// CamerasCmd names the cameras of a configuration.
type CamerasCmd struct {
	Config string `type:"path" help:"Configuration file."`
	Server bool   `help:"Print the address of the NATS server that is named, instead; nothing where none is and the rig needs one of its own."`
}

// Run is `facetrack cameras`.
func (c *CamerasCmd) Run() error {
	cfg, err := readConfig(c.Config, newLogger(os.Stderr, "error"))
	if err != nil {
		return err
	}
	if c.Server {
		if url := cmp.Or(os.Getenv("FACETRACK_NATS"), cfg.NATS.URL); url != "" {
			fmt.Println(url)
		}
		return nil
	}
	for _, cam := range cfg.Cameras {
		fmt.Println(cam.Name)
	}
	return nil
}
