package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/store"
	"facetrack/ipc"
)

// StoredFlags say where the results of a rig are.
type StoredFlags struct {
	Rig     string `placeholder:"NAME" help:"Name of the rig; without it that of the configuration, or lab."`
	NATS    string `name:"nats" placeholder:"URL" env:"FACETRACK_NATS" help:"NATS server that has the results; without it the data of the rig on this machine."`
	DataDir string `placeholder:"DIR" type:"path" help:"Where 'facetrack up' has kept its data."`
	AccessFlags
}

// stored is an open store of results.
type stored struct {
	*store.Results
	cfg    config.Config // of this command, which says where; not that of a session
	where  string        // for people
	nc     *ipc.Conn
	server *bus // of this process, for data that no server has open; else nil
}

// configuration is what flags, environment and file say about where results are.
func (f *StoredFlags) configuration(file string) (config.Config, error) {
	l, err := config.Read(file, os.Environ())
	if err != nil {
		return config.Config{}, err
	}
	for _, v := range []struct {
		flag, value, key string
		to               *string
	}{
		{"--rig", f.Rig, "rig", &l.Rig},
		{"--nats", f.NATS, "nats.url", &l.NATS.URL},
		{"--data-dir", f.DataDir, "data_dir", &l.DataDir},
		{"--credentials", f.Credentials, "nats.credentials", &l.NATS.Credentials},
		{"--tls-ca", f.TLSCA, "nats.tls.ca", &l.NATS.TLS.CA},
	} {
		if v.value != "" {
			*v.to = v.value
			l.Flag(v.flag, v.key)
		}
	}
	return l.Config, l.Finish()
}

// openResults opens the results of a rig: on the server that is named, else in the rig's data on this machine, else on the server that
// has those open.
func openResults(ctx context.Context, cfg config.Config) (*stored, error) {
	s := &stored{cfg: cfg, where: cfg.NATS.URL}
	err := s.connect()
	if err == nil {
		err = s.find(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), s.close())
	}
	return s, nil
}

func (s *stored) connect() (err error) {
	log := slog.New(slog.DiscardHandler) // one line is enough to say what is wrong
	access := auth.Access{Credentials: s.cfg.NATS.Credentials, CA: s.cfg.NATS.TLS.CA}
	if s.where == "" {
		s.where = filepath.Join(s.cfg.DataDir, s.cfg.Rig)
		s.server, err = startQuietBus(s.cfg)
		switch {
		case errors.Is(err, errInUse):
			s.where = cmp.Or(served(s.cfg), reachable("nats://"+s.cfg.NATS.Listen))
		case err != nil:
			return err
		default:
			s.nc, err = ipc.Connect(inProcess, "facetrack-replay", log, nats.InProcessServer(s.server.Server))
			return err
		}
	}
	s.nc, err = dial(s.where, "facetrack-replay", auth.Reader, access, log)
	if err != nil && s.cfg.NATS.URL == "" {
		return fmt.Errorf("the data of rig %q are in use, so that its server has to be asked: name it with --nats: %w", s.cfg.Rig, err)
	}
	return err
}

func (s *stored) find(ctx context.Context) error {
	js, err := jetstream.New(s.nc.Conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	s.Results, err = store.Find(ctx, js, s.cfg.Rig)
	if refused := denied(s.nc.Conn, s.cfg.Rig); err != nil && refused != nil {
		return refused
	}
	return err
}

// explain says of missing results where they were looked for, and what makes some.
func (s *stored) explain(err error) error {
	if errors.Is(err, store.ErrNothing) {
		return fmt.Errorf("%w of rig %q in %s: store.enabled (facetrack up --store) keeps those of the next run; name other places with --rig, --data-dir or --nats", err, s.cfg.Rig, s.where)
	}
	if errors.Is(err, ipc.ErrNoJetStream) {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	return err
}

func (s *stored) close() error {
	if s.nc != nil {
		_ = s.nc.Close()
	}
	return s.server.stop()
}

// inProcess stands for the address of a server that has none.
const inProcess = "nats://in-process"

// startQuietBus opens the data of a rig that nobody has open, for this process alone.
func startQuietBus(cfg config.Config) (_ *bus, err error) {
	if _, err := os.Stat(filepath.Join(cfg.DataDir, cfg.Rig, "jetstream")); errors.Is(err, fs.ErrNotExist) {
		return nil, store.ErrNothing
	}
	dir, lock, err := claimStore(cfg)
	if err != nil {
		return nil, err
	}
	b, err := startPrivate(&server.Options{JetStream: true, StoreDir: dir}, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

// startPrivate runs a server that nobody outside this process can reach.
func startPrivate(o *server.Options, lock *os.File) (*bus, error) {
	o.ServerName, o.DontListen, o.NoSigs, o.NoLog, o.MaxPayload = "facetrack-replay", true, true, true, 1<<20
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBus, err)
	}
	s.Start()
	if !s.ReadyForConnections(busStartTimeout) {
		s.Shutdown()
		return nil, fmt.Errorf("%w: not ready after %s", ErrBus, busStartTimeout)
	}
	return &bus{Server: s, lock: lock}, nil
}
