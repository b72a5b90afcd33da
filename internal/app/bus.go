package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/internal/config"
)

// ErrBus is wrapped by every error about starting the embedded NATS server.
var ErrBus = errors.New("NATS server")

const busStartTimeout = 10 * time.Second

// startBus runs a NATS server with JetStream inside this process.
func startBus(ctx context.Context, cfg config.Config) (*server.Server, error) {
	host, portText, err := net.SplitHostPort(cfg.NATS.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q: %w", ErrBus, cfg.NATS.Listen, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q: the port is not a number", ErrBus, cfg.NATS.Listen)
	}
	if err := checkPort(ctx, host, port); err != nil {
		return nil, err
	}
	store := filepath.Join(cfg.DataDir, "jetstream")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return nil, fmt.Errorf("%w: data directory: %w; choose another with --data-dir", ErrBus, err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "facetrack-" + cfg.Rig, Host: host, Port: port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: store, MaxPayload: 1 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBus, err)
	}
	s.Start()
	if !s.ReadyForConnections(busStartTimeout) {
		s.Shutdown()
		return nil, fmt.Errorf("%w: not ready on %s after %s", ErrBus, cfg.NATS.Listen, busStartTimeout)
	}
	return s, nil
}

// checkPort finds out before the server does, which would only log it.
func checkPort(ctx context.Context, host string, port int) error {
	if port <= 0 {
		return nil // the server takes any free one
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: port %d of %s is taken; use that server with --nats nats://%[3]s:%[2]d, or choose another port with --listen", ErrBus, port, host)
	}
	if err != nil {
		return fmt.Errorf("%w: cannot listen: %w", ErrBus, err)
	}
	return l.Close()
}

// stopBus ends the embedded server and waits until it is gone.
func stopBus(s *server.Server) {
	if s == nil {
		return
	}
	s.Shutdown()
	s.WaitForShutdown()
}
