package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/telemetry"
	"facetrack/ipc"
)

const (
	meetEvery = 500 * time.Millisecond

	// Names of what a service manager may hand over in the folder of $CREDENTIALS_DIRECTORY.
	credentialsFile = "facetrack.nats.creds" //nolint:gosec // a name
	urlFile         = "facetrack.nats.url"
	// credentialsEnv names a file of credentials where no service manager does.
	credentialsEnv = "FACETRACK_NATS_CREDS" //nolint:gosec // a name
)

// handedOver is the path of a credential from the service manager, "" when there is none of that name.
func handedOver(name string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil { //nolint:gosec // the service manager's folder
		return ""
	}
	return path
}

// place is where a process finds its rig, and with what it gets in.
type place struct {
	rig, url string
	access   auth.Access
}

// place is what the flags say, else what was handed over, else the configuration file, else the default.
func (f *StageFlags) place() (place, error) {
	l, err := config.Read(f.Config, os.Environ())
	if err != nil {
		return place{}, err
	}
	url, err := serverURL(f.NATS, l.NATS)
	return place{cmp.Or(f.Rig, l.Rig), url, f.or(l.NATS)}, err
}

func serverURL(flag string, c config.NATS) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if path := handedOver(urlFile); path != "" {
		text, err := os.ReadFile(path) //nolint:gosec // the service manager's
		return strings.TrimSpace(string(text)), err
	}
	if c.URL != "" {
		return c.URL, nil
	}
	return reachable("nats://" + c.Listen), nil
}

// meeting is what a process finds at its server. Bucket and settings are nil where it keeps no state, and a file has the configuration.
type meeting struct {
	bus      *ipc.Conn
	bucket   *ipc.Bucket
	settings *ipc.Settings
}

// meet connects to the server and opens what it has of the rig; with --wait it tries again until all is there. A server that does not
// let the role in is there.
func (f *StageFlags) meet(ctx context.Context, name string, at place, connect func(as string) (*ipc.Conn, error), log *slog.Logger) (m meeting, err error) {
	role := knownRole(at.access.Credentials, auth.Role(name))
	err = persist(ctx, f.Wait, log, func() error {
		if m.bus, err = connect(telemetry.ServiceName(name)); err != nil {
			return err
		}
		m.bucket, err = openBucket(ctx, m.bus.Conn, at.rig, role)
		if err == nil {
			m.settings, err = openSettings(ctx, m.bus.Conn, at.rig, role)
		}
		if err == nil && f.Wait && f.Config == "" {
			_, _, err = storedConfig(ctx, m.settings, log)
		}
		if err != nil && (f.Config == "" || f.Wait && !errors.Is(err, ipc.ErrNoJetStream)) {
			return errors.Join(err, m.bus.Close())
		}
		return nil
	})
	return m, err
}

// persist tries until it succeeds, if it is to wait, and tells the service manager what it waits for. What waiting does not cure ends it.
func persist(ctx context.Context, wait bool, log *slog.Logger, try func() error) error {
	said := ""
	for {
		err := try()
		if err == nil && said != "" {
			notify("STATUS=")
		}
		if err == nil || !wait || lasting(err) {
			return err
		}
		if line := oneLine(err); line != said {
			said = line
			log.Info("waiting", "for", line)
			notify("STATUS=waiting: " + line)
		}
		notify(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (10 * time.Second).Microseconds()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(meetEvery):
		}
	}
}
