package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/stage/networks"
	"facetrack/internal/streams"
	"facetrack/ipc"
	"facetrack/lsl"
	"facetrack/xdf"
)

// xdfFile is a recording of all streams of a rig in XDF.
type xdfFile struct {
	path     string
	writer   *xdf.Writer
	listener *streams.Listener // nil until it follows a rig
	set      *streams.Set
	log      *slog.Logger
	failed   atomic.Bool
}

// createXDF makes the file, which must not be there yet, before anything is started.
func createXDF(path string, log *slog.Logger) (*xdfFile, error) {
	w, err := xdf.Create(path, xdf.Options{})
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("recording %s exists and is left alone: choose another name or move it away", path)
	}
	if err != nil {
		return nil, err
	}
	return &xdfFile{path: path, writer: w, log: log}, nil
}

// follow records what a rig sends from now on.
func (f *xdfFile) follow(nc *nats.Conn, cfg config.Config) (err error) {
	if err := f.declare(cfg); err != nil {
		return err
	}
	f.listener, err = f.set.Listen(nc, nil)
	return err
}

// declare begins the streams of a rig.
func (f *xdfFile) declare(cfg config.Config) (err error) {
	if err := networks.Choose(&cfg); err != nil {
		return err
	}
	cfg.LSL.MaxSlots = math.MaxInt // what a file holds takes no sockets
	f.set, err = streams.New(cfg, f, f.log)
	return err
}

// startXDF records a rig that runs in XDF.
func (c *RecordCmd) startXDF(ctx context.Context, nc *ipc.Conn, log *slog.Logger) (*xdfFile, error) {
	cfg, err := c.configuration(ctx, nc.Conn, log)
	if err != nil {
		return nil, err
	}
	f, err := createXDF(c.XDF, log)
	if err != nil {
		return nil, err
	}
	if err := f.follow(nc.Conn, cfg); err != nil {
		return nil, errors.Join(err, f.Close(), f.discard())
	}
	return f, nil
}

// configuration is the file's, else what the rig has stored.
func (c *RecordCmd) configuration(ctx context.Context, nc *nats.Conn, log *slog.Logger) (cfg config.Config, err error) {
	if c.Config != "" {
		cfg, err = readConfig(c.Config, log)
		cfg.Rig = c.Rig
		for _, p := range cfg.Participants {
			if p.Camera == "" {
				return cfg, fmt.Errorf("%s: participant %s has no camera: name it, or leave --config out to take what the rig has stored", c.Config, p.Name)
			}
		}
		return cfg, err
	}
	settings, err := openSettings(ctx, nc, c.Rig, knownRole(c.Credentials, auth.Reader))
	if err != nil {
		return cfg, err
	}
	cfg, _, err = storedConfig(ctx, settings, log)
	return cfg, err
}

// Open implements [streams.Sink]. A recording that has stopped takes streams and rows as ever and leaves them out.
func (f *xdfFile) Open(info lsl.StreamInfo) (streams.Stream, error) {
	s, err := f.writer.AddStream(info)
	if f.stopped(err) {
		return left{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &xdfStream{file: f, stream: s}, nil
}

// stopped tells, once, that nothing more is recorded, if err says so.
func (f *xdfFile) stopped(err error) bool {
	if !errors.Is(err, xdf.ErrStopped) {
		return false
	}
	if !f.failed.Swap(true) {
		f.log.Error("the run goes on without recording", "error", err)
	}
	return true
}

// left is a stream that is left out.
type left struct{}

func (left) Push(float64, []float32) error       { return nil }
func (left) PushString(float64, ...string) error { return nil }
func (left) Close() error                        { return nil }

// Err is the failure that stopped the recording, if any.
func (f *xdfFile) Err() error { return f.writer.Err() }

// Close writes what is under way, and the footers.
func (f *xdfFile) Close() error {
	var errs []error
	if f.listener != nil {
		errs = append(errs, f.listener.Close())
	}
	if f.set != nil {
		_ = f.set.Close() // what stopped the recording is the writer's error
	}
	return errors.Join(append(errs, f.writer.Close())...)
}

// discard removes a recording that was never begun.
func (f *xdfFile) discard() error { return os.Remove(f.path) }

// offsetEvery is how far apart clock offsets are, in seconds, as in LabRecorder's files.
const offsetEvery = 5

// xdfStream is a stream of the file. The clock of the recording is the rig's, so that all offsets are 0.
type xdfStream struct {
	file   *xdfFile
	stream *xdf.Stream
	told   float64
}

func (s *xdfStream) Push(ts float64, values []float32) error {
	return s.pushed(ts, s.stream.Push(ts, values))
}

func (s *xdfStream) PushString(ts float64, values ...string) error {
	return s.pushed(ts, s.stream.PushString(ts, values...))
}

func (s *xdfStream) pushed(ts float64, err error) error {
	if err == nil && (s.told == 0 || ts-s.told >= offsetEvery) {
		s.told = ts
		err = s.stream.ClockOffset(ts, 0)
	}
	if s.file.stopped(err) {
		return nil
	}
	return err
}

func (s *xdfStream) Close() error { return s.stream.Close() }
