package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"
)

// Key is the public half of a role's key.
type Key struct {
	Public string    `json:"public"`
	Made   time.Time `json:"made"`
}

// book is what a server needs to know of the roles: no secret is in it.
type book struct {
	Rigs  []string     `json:"rigs"`  // of nats-server.conf
	Hosts []string     `json:"hosts"` // of the server's certificate
	Keys  map[Role]Key `json:"keys"`
	// Joining are the keys of other hosts' servers, by rig.
	Joining map[string]Key `json:"hosts_that_join,omitempty"`
}

func readBook(dir string) (*book, error) {
	path := filepath.Join(dir, bookFile)
	data, err := readIn(dir, bookFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; make credentials with facetrack auth init --dir %s", err, dir)
	}
	if err != nil {
		return nil, err
	}
	var b book
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, path, err)
	}
	for _, r := range Roles {
		if !nkeys.IsValidPublicUserKey(b.Keys[r].Public) {
			return nil, fmt.Errorf("%w: %s has no key of %s: facetrack auth rotate %s makes one", ErrCredentials, path, r, r)
		}
	}
	for rig, key := range b.Joining {
		if !nkeys.IsValidPublicUserKey(key.Public) {
			return nil, fmt.Errorf("%w: %s has no key of the host of rig %s: facetrack auth host %s makes one", ErrCredentials, path, rig, rig)
		}
	}
	return &b, nil
}

func (b *book) encode() ([]byte, error) {
	data, err := json.MarshalIndent(b, "", "  ")
	return append(data, '\n'), err
}

func readIn(dir, name string) ([]byte, error) {
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	return readPublic(filepath.Join(dir, name))
}

// readPublic reads a file that everybody may know and nobody else may change.
func readPublic(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o, so that others can change it: chmod 600 %s", ErrCredentials, path, mode, path)
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return data, nil
}
