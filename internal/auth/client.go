package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
)

// Access is what a client has to get to a server: nothing, or credentials. The zero value is nothing.
type Access struct {
	Credentials string // a folder of auth init, or the file of one seed
	CA          string // whom to trust; the folder's when empty
}

// Options are those of a connection in a role.
func (a Access) Options(role Role) ([]nats.Option, error) {
	ca, err := a.authority()
	if err != nil {
		return nil, err
	}
	var opts []nats.Option
	if ca != nil {
		opts = append(opts, nats.Secure(&tls.Config{RootCAs: ca, MinVersion: tls.VersionTLS13}))
	}
	if a.Credentials == "" {
		return opts, nil
	}
	seed, err := a.seed(role)
	if err != nil {
		return nil, err
	}
	pair, err := openSeed(seed)
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, seed, err)
	}
	return append(opts, nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(role.InboxPrefix())), nil
}

// seed is the file with the role's key.
func (a Access) seed(role Role) (string, error) {
	info, err := os.Stat(a.Credentials)
	if err != nil {
		return "", fmt.Errorf("%w: %w; make them with facetrack auth init", ErrCredentials, err)
	}
	if !info.IsDir() {
		return a.Credentials, nil
	}
	if err := checkFolder(a.Credentials); err != nil {
		return "", err
	}
	path := filepath.Join(a.Credentials, seedFile(role))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s has no key of %s (%s)", ErrCredentials, a.Credentials, role, seedFile(role))
	}
	return path, nil
}

// authority is the CA to trust; nil when none is named and the folder has none.
func (a Access) authority() (*x509.CertPool, error) {
	path := a.CA
	if path == "" {
		path = filepath.Join(a.Credentials, caFile)
		if info, err := os.Stat(a.Credentials); a.Credentials == "" || err != nil || !info.IsDir() {
			return nil, nil
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	data, err := readPublic(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%w: %s holds no certificate", ErrCredentials, path)
	}
	return pool, nil
}
