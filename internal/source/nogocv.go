//go:build !gocv

package source

import (
	"context"
	"fmt"
	"path/filepath"
)

// HaveOpenCV says whether this build reads cameras, network streams and compressed video.
const HaveOpenCV = false

func noOpenCV(what string) error {
	return fmt.Errorf("%w: this build has no OpenCV, which %s needs; `make build` includes it (go build -tags gocv)", ErrUnsupported, what)
}

func canOpenStreams() error { return noOpenCV("a network stream") }

func openStream(context.Context, string, string, Options) (Source, error) {
	return nil, noOpenCV("a network stream")
}

func openCamera(_ context.Context, path string, _ Options) (Source, error) {
	return nil, noOpenCV("camera " + path)
}

func openVideoFile(path string, _ Options) (Source, error) {
	return nil, fmt.Errorf("%w; or convert it: ffmpeg -i %s -an -c:v mjpeg -q:v 2 clip.avi", noOpenCV(fmt.Sprintf("%s (%q)", path, filepath.Ext(path))), path)
}
