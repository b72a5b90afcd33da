package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the files in a folder of credentials.
const (
	bookFile      = "roles.json"
	caFile        = "ca.pem"
	caKeyFile     = "ca-key.pem"
	serverFile    = "server.pem"
	serverKeyFile = "server-key.pem"
	confFile      = "nats-server.conf"
	seedSuffix    = ".nk"
)

// Errors of credentials.
var (
	// ErrCredentials is wrapped by every error about files of keys and certificates.
	ErrCredentials = errors.New("credentials")
	// ErrExists: there is a set of credentials already.
	ErrExists = errors.New("exists and is left alone")
)

func seedFile(r Role) string { return string(r) + seedSuffix }

// readSecret reads a file that nobody else may read. A group may, if the owner says so, as with credentials of systemd.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", ErrCredentials, path)
	}
	if mode := info.Mode().Perm(); mode&0o037 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o, so that others can use it: chmod 600 %s, and rotate it if they did", ErrCredentials, path, mode, path)
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil && info.Size() > 0 {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return data, nil
}

// writeNew makes a file that must not be there, for its owner alone.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the folder
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s %w", ErrCredentials, path, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrCredentials, path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// replace puts data in the place of a file, at once.
func replace(path string, data []byte) error {
	part := path + ".new"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if err := writeNew(part, data); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, errors.Join(err, os.Remove(part)))
	}
	return nil
}

// makeFolder makes a private folder, or finds one.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%w: the folder %s has mode %04o: chmod 700 %s, or name a new one", ErrCredentials, dir, mode, dir)
	}
	return nil
}

// checkFolder refuses a folder in which others can put files of theirs in the place of ours.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: the folder %s has mode %04o, so that others can change what is in it: chmod 700 %s", ErrCredentials, dir, mode, dir)
	}
	return nil
}

// DefaultDir is the folder for credentials where none is named.
func DefaultDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "facetrack", "auth")
}
