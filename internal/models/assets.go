package models

import (
	"os"
	"path/filepath"
)

// Assets is the folder with models and clips for development: $FACETRACK_ASSETS, else shared/assets beside the checkout that holds the
// working directory; "" without either.
func Assets() string {
	if dir := os.Getenv("FACETRACK_ASSETS"); dir != "" {
		return dir
	}
	root := checkout()
	if root == "" {
		return ""
	}
	dir := filepath.Join(filepath.Dir(root), "shared", "assets")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
