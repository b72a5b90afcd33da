// Package testutil finds what tests need outside the repository.
package testutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// RepoRoot returns the folder that holds go.mod.
func RepoRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// FindAssets returns the folder with public models and clips ($FACETRACK_ASSETS, else ../shared/assets
// beside the repository), or "" when there is none.
func FindAssets() string {
	for _, dir := range []string{os.Getenv("FACETRACK_ASSETS"), filepath.Join(filepath.Dir(RepoRoot()), "shared", "assets")} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "models")); err == nil {
			return dir
		}
	}
	return ""
}

// Assets is FindAssets for a test that cannot run without them: it skips the test and says so.
func Assets(t testing.TB) string {
	t.Helper()
	dir := FindAssets()
	if dir == "" {
		t.Skip("SKIPPED: needs the public models and clips; set FACETRACK_ASSETS to their folder (see docs/assets.md)")
	}
	return dir
}
