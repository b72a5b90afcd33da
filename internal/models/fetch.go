package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// Progress reports one model's download: bytes so far, and of how many (−1 when the server does not say).
// Done is set once, at the end; Present says that nothing had to be downloaded.
type Progress struct {
	Model         Model
	Bytes, Total  int64
	Done, Present bool
}

// Fetch brings the named models, or all public ones that are not optional when none is named, into the cache folder.
// A model that is already found with the right content is left alone; a damaged one in the cache is
// replaced. A file appears under its name only when complete and checked. progress may be nil.
func (s *Store) Fetch(ctx context.Context, names []string, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	wanted, err := s.selected(names)
	if err != nil {
		return err
	}
	for _, m := range wanted {
		if _, err := s.Verify(m.Name); err == nil {
			progress(Progress{Model: m, Done: true, Present: true})
			continue
		}
		if err := s.fetch(ctx, m, progress); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) selected(names []string) ([]Model, error) {
	var wanted []Model
	for _, name := range names {
		m, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, m)
	}
	if len(names) > 0 {
		return wanted, nil
	}
	for _, m := range s.models {
		if !m.Optional && m.Content == nil {
			wanted = append(wanted, m)
		}
	}
	return wanted, nil
}

func (s *Store) fetch(ctx context.Context, m Model, progress func(Progress)) (err error) {
	if err := os.MkdirAll(s.cache, 0o750); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDownload, m.Name, err)
	}
	part, err := os.CreateTemp(s.cache, "."+m.File+".part-*")
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDownload, m.Name, err)
	}
	defer func() {
		_ = part.Close() // closed already when all went well
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
		}
	}()
	n, err := s.download(ctx, m, part, progress)
	if err != nil {
		return err
	}
	if err := publish(part, filepath.Join(s.cache, m.File)); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDownload, m.Name, err)
	}
	progress(Progress{Model: m, Bytes: n, Total: n, Done: true})
	return nil
}

// publish makes the file durable under its final name.
func publish(part *os.File, path string) error {
	if err := part.Sync(); err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// download writes the model's content and checks it.
func (s *Store) download(ctx context.Context, m Model, to io.Writer, progress func(Progress)) (int64, error) {
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("%w: %s from %s: %w; check the network and try again", ErrDownload, m.Name, m.URL, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL, nil)
	if err != nil {
		return fail(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode != http.StatusOK {
		return fail(errors.New(resp.Status))
	}
	hash := sha256.New()
	count := &counter{report: progress, state: Progress{Model: m, Total: resp.ContentLength}}
	n, err := io.Copy(io.MultiWriter(to, hash, count), io.LimitReader(resp.Body, maxFile+1))
	if err != nil {
		return fail(err)
	}
	if n > maxFile {
		return fail(fmt.Errorf("more than %d MiB", maxFile>>20))
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != m.SHA256 {
		return 0, fmt.Errorf("%w: %s from %s has SHA-256 %s, expected %s; a proxy may have changed it: fetch the file another way into %s",
			ErrHash, m.Name, m.URL, got, m.SHA256, s.cache)
	}
	return n, nil
}

// counter reports each chunk.
type counter struct {
	state  Progress
	report func(Progress)
}

func (c *counter) Write(p []byte) (int, error) {
	c.state.Bytes += int64(len(p))
	c.report(c.state)
	return len(p), nil
}
