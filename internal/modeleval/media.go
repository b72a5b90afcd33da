package modeleval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"facetrack/internal/source"
	"facetrack/vision"
)

// annotated is another picture with a box drawn into it.
const annotated = "face_detection_expected.png"

// findMedia lists the clips and pictures of an assets folder that this build reads, and says what it leaves out.
func findMedia(assets string) (paths []string, left []string, err error) {
	for _, pattern := range []string{"*.gif", "*.mkv", "*.png"} {
		found, err := filepath.Glob(filepath.Join(assets, "media", pattern))
		if err != nil {
			return nil, nil, err
		}
		for _, path := range found {
			switch {
			case filepath.Ext(path) == ".mkv" && !source.HaveOpenCV:
				left = append(left, fmt.Sprintf("%s: this build reads no compressed video; make build", base(path)))
			case base(path) != annotated:
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return nil, left, fmt.Errorf("no clip in %s: %w", filepath.Join(assets, "media"), os.ErrNotExist)
	}
	return paths, left, nil
}

// eachFrame hands over every frame, whose pixels are its receiver's until it returns.
func eachFrame(ctx context.Context, path string, do func(vision.Image) error) (err error) {
	src, err := source.Open(ctx, path, source.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	info := src.Info()
	m := vision.Image{Format: vision.Format(info.Format), Width: info.Width, Height: info.Height, Pix: make([]byte, info.FrameBytes())}
	for {
		if _, err := src.Grab(ctx); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := src.Retrieve(m.Pix); err != nil {
			return err
		}
		if err := do(m); err != nil {
			return err
		}
	}
}

// base is a file's name: where it lies is nobody's business.
func base(path string) string { return filepath.Base(path) }
