package models

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// maxFile bounds what is read or downloaded; the largest public model has a few MiB.
const maxFile = 64 << 20

// Verify checks the content of a model that is on this machine. Errors wrap ErrHash, or those of Find.
func (s *Store) Verify(name string) (Found, error) {
	_, found, err := s.Read(name, false)
	return found, err
}

// Read returns a model's checked content. A file given by its path must be one of the public models unless
// unverified allows any.
func (s *Store) Read(name string, unverified bool) ([]byte, Found, error) {
	found, err := s.Find(name)
	if err != nil {
		return nil, found, err
	}
	if found.Model.Content != nil {
		return found.Model.Content, found, nil
	}
	data, err := readFile(found.Path)
	if err != nil {
		return nil, found, err
	}
	sum := sha256.Sum256(data)
	got := hex.EncodeToString(sum[:])
	if found.Model.Name != "" {
		return data, found, found.check(got)
	}
	if m, ok := s.bySum(got); ok {
		found.Model = m
	} else if !unverified {
		return nil, found, fmt.Errorf("%w: %s (SHA-256 %s) is none of the public models; allow unverified models to use it", ErrHash, found.Path, got)
	}
	return data, found, nil
}

func (f Found) check(got string) error {
	if got == f.Model.SHA256 {
		return nil
	}
	return fmt.Errorf("%w: %s has SHA-256 %s, expected %s; delete it and run: facetrack models fetch %s",
		ErrHash, f.Path, got, f.Model.SHA256, f.Model.Name)
}

func (s *Store) bySum(sum string) (Model, bool) {
	for _, m := range s.models {
		if m.SHA256 == sum {
			return m, true
		}
	}
	return Model{}, false
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator chooses the file
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %s is larger than %d MiB; this is no model of ours", ErrHash, path, maxFile>>20)
	}
	return data, nil
}
