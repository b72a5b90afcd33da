package models

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// content is what the fake origin serves.
const content = "the bytes of a model"

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// fakeStore has one model "tiny" with content, and an optional "huge", at the origin; two folders to search.
func fakeStore(t *testing.T, origin http.HandlerFunc) *Store {
	t.Helper()
	server := httptest.NewServer(origin)
	t.Cleanup(server.Close)
	root := t.TempDir()
	s := &Store{
		models: []Model{
			{Name: "tiny", File: "tiny.onnx", URL: server.URL + "/tiny.onnx", SHA256: sum(content), Kind: YuNet},
			{Name: "huge", File: "huge.task", URL: server.URL + "/huge.task", SHA256: sum("other"), Kind: Bundle, Optional: true},
		},
		dirs:   []string{filepath.Join(root, "assets"), filepath.Join(root, "cache")},
		cache:  filepath.Join(root, "cache"),
		client: newClient(),
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func serve(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

func put(t *testing.T, dir, name, body string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// files lists the cache folder.
func files(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.cache)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
