package auth

import (
	"bytes"
	"fmt"

	"github.com/nats-io/nkeys"
)

// newKey makes the key of a role: the seed, and the public half for the server.
func newKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("%w: make a key: %w", ErrCredentials, err)
	}
	defer pair.Wipe()
	if seed, err = pair.Seed(); err == nil {
		public, err = pair.PublicKey()
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: make a key: %w", ErrCredentials, err)
	}
	return append(bytes.Clone(seed), '\n'), public, nil
}

// openSeed reads the key of a role from its file.
func openSeed(path string) (nkeys.KeyPair, error) {
	data, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	pair, err := nkeys.FromSeed(bytes.TrimSpace(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %s holds no seed of an nkey: %w", ErrCredentials, path, err)
	}
	return pair, nil
}
