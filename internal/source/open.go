package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Open opens the source that spec names; the package comment lists the kinds.
// Errors: ErrSpec, ErrNotFound, ErrPermission, ErrCorrupt, ErrUnsupported, ErrLost, or the context's own.
func Open(ctx context.Context, spec string, opts Options) (Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	switch {
	case spec == "":
		return nil, fmt.Errorf("%w: it is empty; give a file, a folder, a URL, /dev/videoN, demo or synthetic:faces=1", ErrSpec)
	case spec == "synthetic" || strings.HasPrefix(spec, "synthetic:"):
		return openSynthetic(spec)
	case spec == Demo:
		return openDemo(opts)
	case strings.HasPrefix(spec, "memory:"):
		return openMemory(ctx, spec, opts)
	case strings.Contains(spec, "://"):
		return openURL(ctx, spec, opts)
	case isDevicePath(spec):
		return openDevice(ctx, spec, opts)
	}
	return openPath(spec, opts)
}

func openPath(path string, opts Options) (Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[") {
			return openGlob(path, opts)
		}
		return nil, pathError(path, err)
	}
	if st.IsDir() {
		return openFolder(path, opts)
	}
	if err := checkFile(path, st); err != nil {
		return nil, err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gif":
		return openGIF(path, opts)
	case ".y4m":
		return openY4M(path, opts)
	case ".avi":
		return openAVI(path, opts)
	case ".png", ".jpg", ".jpeg":
		return openImages([]string{path}, path, opts)
	}
	return openVideoFile(path, opts)
}

func checkFile(path string, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is neither a file, a folder nor a /dev/video device", ErrUnsupported, path)
	}
	if st.Size() == 0 {
		return fmt.Errorf("%w: %s is an empty file", ErrCorrupt, path)
	}
	f, err := os.Open(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return pathError(path, err)
	}
	return f.Close()
}

// openSized opens a file that is read from any place, and tells its size.
func openSized(path string) (*os.File, int64, error) {
	f, err := os.Open(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, 0, pathError(path, err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(pathError(path, err), f.Close())
	}
	return f, st.Size(), nil
}

// pathError puts this package's sentinels around what the operating system said about a file.
func pathError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s does not exist; check the path (relative paths start at the working folder)", ErrNotFound, path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s may not be read; check its owner and mode", ErrPermission, path)
	}
	return fmt.Errorf("source %s: %w", path, err)
}
