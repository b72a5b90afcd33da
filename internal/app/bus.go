package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"facetrack/internal/auth"
	"facetrack/internal/config"
)

// ErrBus is wrapped by every error about starting the embedded NATS server.
var ErrBus = errors.New("NATS server")

// errInUse says that another process has the data of a rig.
var errInUse = errors.New("in use by another facetrack up")

const busStartTimeout = 10 * time.Second

// bus is an embedded NATS server and the lock on its data.
type bus struct {
	*server.Server
	lock *os.File
	own  []nats.Option // with which its own process gets to it
	mend *mender
}

// startBus runs a NATS server with JetStream inside this process.
func startBus(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *bus, err error) {
	host, portText, err := net.SplitHostPort(cfg.NATS.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q: %w", ErrBus, cfg.NATS.Listen, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q: the port is not a number", ErrBus, cfg.NATS.Listen)
	}
	guard, err := openGuard(cfg, host, log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBus, err)
	}
	if err := checkPort(ctx, host, port); err != nil {
		return nil, err
	}
	store, lock, err := claimStore(cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	options := &server.Options{
		ServerName: "facetrack-" + cfg.Rig, Host: host, Port: port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: store, MaxPayload: 1 << 20,
	}
	var own []nats.Option
	if guard != nil {
		guard.Apply(options)
		if own, err = guard.Admit(options); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBus, err)
		}
	}
	if err := joinHosts(ctx, options, cfg, guard); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBus, err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBus, err)
	}
	mend := newMender(options, log)
	s.SetLogger(mend.listen(serverLog(cfg, guard, log)), false, false)
	s.Start()
	if !s.ReadyForConnections(busStartTimeout) {
		s.Shutdown()
		return nil, fmt.Errorf("%w: not ready on %s after %s", ErrBus, cfg.NATS.Listen, busStartTimeout)
	}
	mend.watch(s)
	b := &bus{s, lock, own, mend}
	if err := tell(lock, b.url()); err != nil {
		log.Warn("where the server listens is not written down: programs on this machine have to be told with --nats", "error", err)
	}
	return b, nil
}

// openGuard reads the credentials of the server, nil when none are named, which is good enough on this machine alone.
func openGuard(cfg config.Config, host string, log *slog.Logger) (*auth.Guard, error) {
	n := cfg.NATS
	if n.Credentials == "" {
		if !auth.Loopback(host) {
			return nil, fmt.Errorf("%w: %s is open to other machines, where credentials and TLS are required: make both with facetrack auth init --host NAME and start with --credentials DIR, or listen on 127.0.0.1",
				auth.ErrCredentials, n.Listen)
		}
		return nil, nil
	}
	guard, err := auth.OpenGuard(n.Credentials, cfg.Rig, n.TLS.Cert, n.TLS.Key)
	if err != nil {
		return nil, err
	}
	if err := guard.Check(host, time.Now()); err != nil {
		return nil, err
	}
	if left, soon := guard.Soon(time.Now()); soon {
		log.Warn("the certificate of the NATS server ends soon: facetrack auth rotate server", "days", int(left.Hours()/24))
	}
	return guard, nil
}

// url is where processes of this machine reach the server.
func (b *bus) url() string { return reachable(b.ClientURL()) }

// reachable is the address by which this machine reaches a server that listens on all of its own.
func reachable(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String()
}

// claimStore makes the folder for the server's data and keeps other servers out of it as long as lock is open.
func claimStore(cfg config.Config) (store string, lock *os.File, err error) {
	dir := filepath.Join(cfg.DataDir, cfg.Rig)
	store = filepath.Join(dir, "jetstream")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return "", nil, fmt.Errorf("%w: data directory: %w; choose another with --data-dir", ErrBus, err)
	}
	lock, err = os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names the folder
	if err != nil {
		return "", nil, fmt.Errorf("%w: data directory: %w; choose another with --data-dir", ErrBus, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = fmt.Errorf("%w: %s is %w: choose another --rig or --data-dir", ErrBus, dir, errInUse)
		return "", nil, errors.Join(err, lock.Close())
	}
	if err := tell(lock, ""); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%w: data directory: %w", ErrBus, err), lock.Close())
	}
	return store, lock, nil
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

// stop ends the embedded server and waits until it is gone; a nil bus has nothing to end.
func (b *bus) stop() error {
	if b == nil {
		return nil
	}
	b.mend.stop()
	b.Shutdown()
	b.WaitForShutdown()
	return b.lock.Close()
}

// lockFile is the lock on a rig's data. In it stands where the server listens that has them.
const lockFile = "lock"

// tell writes that into the lock, "" as long as the server does not run.
func tell(lock *os.File, url string) error {
	if err := lock.Truncate(0); err != nil || url == "" {
		return err
	}
	_, err := lock.WriteAt([]byte(url), 0)
	return err
}

// served is where the server listens that has a rig's data, "" when it does not say.
func served(cfg config.Config) string {
	url, err := os.ReadFile(filepath.Join(cfg.DataDir, cfg.Rig, lockFile))
	if err != nil {
		return ""
	}
	return string(url)
}
