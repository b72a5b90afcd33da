package models

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store finds, checks and fetches model files.
type Store struct {
	models []Model
	dirs   []string // searched in order
	cache  string   // the last of dirs: where Fetch writes
	client *http.Client
}

// NewStore searches the folders that the package comment names.
func NewStore() (*Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("models: no cache folder: %w; set HOME or XDG_CACHE_HOME", err)
	}
	s := &Store{models: All(), cache: filepath.Join(cache, "facetrack", "models"), client: newClient()}
	if dir := os.Getenv("FACETRACK_ASSETS"); dir != "" {
		s.dirs = append(s.dirs, filepath.Join(dir, "models"))
	}
	if root := checkout(); root != "" {
		s.dirs = append(s.dirs, filepath.Join(filepath.Dir(root), "shared", "assets", "models"))
	}
	s.dirs = append(s.dirs, s.cache)
	return s, nil
}

// newClient gives up on a server that does not answer; a slow body is the context's business.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 30 * time.Second
	return &http.Client{Transport: t}
}

// checkout is the nearest folder above the working directory that holds go.mod, or "".
func checkout() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Cache is the folder that Fetch writes to.
func (s *Store) Cache() string { return s.cache }

// BuiltIn is the path of a model that is part of the program.
const BuiltIn = "built in"

// Found is a model file on this machine. Model is the zero value for a path that was given explicitly.
type Found struct {
	Model Model
	Path  string
}

// extension is that of the file, which tells its format.
func (f Found) extension() string {
	if f.Path == BuiltIn {
		return filepath.Ext(f.Model.File)
	}
	return filepath.Ext(f.Path)
}

// Find returns where a model lies, unchecked. name is a registered name or the path of a file: anything
// with a path separator or an extension. Errors wrap ErrUnknown or ErrMissing.
func (s *Store) Find(name string) (Found, error) {
	if isPath(name) {
		if !isFile(name) {
			return Found{}, fmt.Errorf("%w: no file %s", ErrMissing, name)
		}
		return Found{Path: name}, nil
	}
	m, err := s.lookup(name)
	if err != nil {
		return Found{}, err
	}
	if m.Content != nil {
		return Found{Model: m, Path: BuiltIn}, nil
	}
	for _, dir := range s.dirs {
		if path := filepath.Join(dir, m.File); isFile(path) {
			return Found{Model: m, Path: path}, nil
		}
	}
	return Found{}, fmt.Errorf("%w: model %s: no %s in %s; run: facetrack models fetch %s",
		ErrMissing, m.Name, m.File, strings.Join(s.dirs, ", "), m.Name)
}

func isPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || filepath.Ext(name) != ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
