package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/internal/testutil"
)

func TestFindTakesTheFirstFolder(t *testing.T) {
	s := fakeStore(t, serve(content))
	late := put(t, s.dirs[1], "tiny.onnx", content)
	if f, err := s.Find("tiny"); err != nil || f.Path != late || f.Model.Name != "tiny" {
		t.Fatalf("found %+v, %v; want %s", f, err, late)
	}
	early := put(t, s.dirs[0], "tiny.onnx", content)
	if f, err := s.Find("tiny"); err != nil || f.Path != early {
		t.Fatalf("found %+v, %v; want %s", f, err, early)
	}
	other := put(t, t.TempDir(), "mine.onnx", "x")
	if f, err := s.Find(other); err != nil || f.Path != other {
		t.Fatalf("found %+v, %v; want %s", f, err, other)
	}
}

func TestFindNamesThePlacesAndTheCure(t *testing.T) {
	s := fakeStore(t, serve(content))
	_, err := s.Find("tiny")
	if !errors.Is(err, ErrMissing) {
		t.Fatalf("error %v, want ErrMissing", err)
	}
	for _, want := range []string{s.dirs[0], s.dirs[1], "tiny.onnx", "facetrack models fetch tiny"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %q", err, want)
		}
	}
	if _, err := s.Find("tinny"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "tiny, huge") {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := s.Find("./none.onnx"); !errors.Is(err, ErrMissing) {
		t.Errorf("no such file: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(s.cache, "tiny.onnx"), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("tiny"); !errors.Is(err, ErrMissing) {
		t.Errorf("a folder of that name: %v", err)
	}
}

func TestVerifyNamesFileHashesAndCure(t *testing.T) {
	s := fakeStore(t, serve(content))
	path := put(t, s.cache, "tiny.onnx", "damaged")
	_, err := s.Verify("tiny")
	if !errors.Is(err, ErrHash) {
		t.Fatalf("error %v, want ErrHash", err)
	}
	for _, want := range []string{path, sum("damaged"), sum(content), "facetrack models fetch tiny"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %q", err, want)
		}
	}
	put(t, s.cache, "tiny.onnx", content)
	if f, err := s.Verify("tiny"); err != nil || f.Path != path {
		t.Errorf("good content: %+v, %v", f, err)
	}
}

func TestReadByPathWantsPublicContentUnlessTold(t *testing.T) {
	s := fakeStore(t, serve(content))
	mine := put(t, t.TempDir(), "mine.onnx", "my own")
	if _, _, err := s.Read(mine, false); !errors.Is(err, ErrHash) {
		t.Errorf("unknown content: error %v, want ErrHash", err)
	}
	if data, f, err := s.Read(mine, true); err != nil || string(data) != "my own" || f.Model.Name != "" {
		t.Errorf("allowed: %q, %+v, %v", data, f, err)
	}
	copied := put(t, t.TempDir(), "renamed.onnx", content)
	if _, f, err := s.Read(copied, false); err != nil || f.Model.Name != "tiny" {
		t.Errorf("public content under another name: %+v, %v", f, err)
	}
	put(t, s.cache, "tiny.onnx", "damaged")
	if _, _, err := s.Read("tiny", true); !errors.Is(err, ErrHash) {
		t.Errorf("a named model is always checked: %v", err)
	}
}

func TestNewStoreSearchesTheDocumentedPlaces(t *testing.T) {
	root := t.TempDir()
	checkout := filepath.Join(root, "work", "tree")
	if err := os.MkdirAll(filepath.Join(checkout, "deep", "down"), 0o750); err != nil {
		t.Fatal(err)
	}
	put(t, checkout, "go.mod", "module x\n")
	t.Setenv("FACETRACK_ASSETS", filepath.Join(root, "a"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "c"))
	t.Chdir(filepath.Join(checkout, "deep", "down"))
	s, err := NewStore()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(root, "a", "models"),
		filepath.Join(root, "work", "shared", "assets", "models"),
		filepath.Join(root, "c", "facetrack", "models"),
	}
	if strings.Join(s.dirs, "\n") != strings.Join(want, "\n") || s.Cache() != want[2] {
		t.Errorf("searches %v, want %v", s.dirs, want)
	}
	t.Setenv("FACETRACK_ASSETS", "")
	t.Chdir(t.TempDir())
	if s, err = NewStore(); err != nil || len(s.dirs) != 1 {
		t.Errorf("outside a checkout: %v, %v", s.dirs, err)
	}
}

func TestPublicModelsHaveTheStatedContent(t *testing.T) {
	dir := filepath.Join(testutil.Assets(t), "models")
	s := &Store{models: All(), dirs: []string{dir}}
	for _, m := range public {
		if m.Optional {
			continue
		}
		if _, err := s.Verify(m.Name); err != nil {
			t.Error(err)
		}
	}
}

func TestRegistryIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range public {
		if len(m.SHA256) != 64 || !strings.HasPrefix(m.URL, "https://") || m.Licence == "" || seen[m.Name] || isPath(m.Name) {
			t.Errorf("incomplete, doubled or path-like: %+v", m)
		}
		if filepath.Base(m.URL) != m.File {
			t.Errorf("%s: file %s is not the origin's %s", m.Name, m.File, m.URL)
		}
		seen[m.Name] = true
	}
}
