package app

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"

	"facetrack/internal/auth"
	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// AccessFlags say with what a process gets to a NATS server that does not let everybody in.
type AccessFlags struct {
	Credentials string `placeholder:"DIR" type:"path" env:"FACETRACK_CREDENTIALS" help:"Keys and certificates that 'facetrack auth init' has made; for clients also the file of one seed."`
	TLSCA       string `name:"tls-ca" placeholder:"FILE" type:"path" env:"FACETRACK_TLS_CA" help:"Certificate of the CA that the NATS server is known by; without it the one of --credentials."`
}

func (f AccessFlags) access() auth.Access {
	return auth.Access{Credentials: f.Credentials, CA: f.TLSCA}
}

// flags are those that a child process needs for the same access.
func accessArgs(a auth.Access) (args []string) {
	if a.Credentials != "" {
		args = append(args, "--credentials", a.Credentials)
	}
	if a.CA != "" {
		args = append(args, "--tls-ca", a.CA)
	}
	return args
}

// or adds what the configuration names where no flag does.
func (f AccessFlags) or(c config.NATS) auth.Access {
	return auth.Access{Credentials: cmp.Or(f.Credentials, c.Credentials), CA: cmp.Or(f.TLSCA, c.TLS.CA)}
}

// dial connects to a NATS server in a role. Who has no key of a role takes the credentials that the environment names, if any.
func dial(url, name string, role auth.Role, a auth.Access, log *slog.Logger, more ...nats.Option) (*ipc.Conn, error) {
	opts, err := a.Options(role)
	if err != nil {
		return nil, err
	}
	if a.Credentials != "" {
		log = log.With("role", role)
	} else if path := cmp.Or(os.Getenv(credentialsEnv), handedOver(credentialsFile)); path != "" {
		opts = append(opts, nats.UserCredentials(path))
	}
	return ipc.Connect(url, name, log, append(opts, more...)...)
}

// denied tells whether the server has refused something to this connection, which may not be for the rig.
func denied(nc interface{ LastError() error }, rig string) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("%w to rig %q: the server's permissions are for other rigs (facetrack auth rigs), or this key is of another role: %w", ipc.ErrAccess, rig, err)
	}
	return nil
}

// knownRole is a role where the server knows any, which is where credentials are used.
func knownRole(credentials string, role auth.Role) auth.Role {
	if credentials == "" {
		return ""
	}
	return role
}

// lasting tells errors of access that stay until somebody changes keys, certificates or permissions.
func lasting(err error) bool {
	return errors.Is(err, auth.ErrCredentials) || errors.Is(err, ipc.ErrAccess)
}

// lastingAccess marks errors of access that a restart does not cure.
func lastingAccess(err error) error {
	if lasting(err) {
		return stage.Permanent(err)
	}
	return err
}
