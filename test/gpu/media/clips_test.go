//go:build cuda

package media

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"facetrack/internal/source"
	"facetrack/internal/testutil"
	"facetrack/vision"
)

// framesVariable names a folder of folders of pictures: the videos, for machines that cannot decode them (scripts/frames.sh).
const framesVariable = "FACETRACK_FRAMES"

// recordings are the paths of all public material.
func recordings(t *testing.T) []string {
	t.Helper()
	assets := testutil.Assets(t)
	var paths []string
	for _, pattern := range []string{"*.gif", "*.png"} {
		found, err := filepath.Glob(filepath.Join(assets, "media", pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Fatalf("no recordings in %s", assets)
	}
	folder := os.Getenv(framesVariable)
	if folder == "" && onGPU {
		t.Fatalf("set %s to the folder that scripts/frames.sh has written", framesVariable)
	}
	if folder == "" {
		t.Logf("videos NOT RUN: %s names no folder of their frames (scripts/frames.sh)", framesVariable)
		return paths
	}
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no frames in %s: %v", folder, err)
	}
	return append(paths, found...)
}

// clip is every step-th frame of a recording in one pixel format.
type clip struct {
	name   string
	frames []vision.Image
}

func readClip(t *testing.T, spec, format string, step int) clip {
	t.Helper()
	src, err := source.Open(t.Context(), fmt.Sprintf("memory:format=%s,frames=1000:%s", format, spec), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	info := src.Info()
	c := clip{name: filepath.Base(spec) + " " + format}
	for i := 0; ; i++ {
		_, err := src.Grab(t.Context())
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatalf("%s, frame %d: %v", c.name, i, err)
		}
		if i%step != 0 {
			continue
		}
		m := vision.Image{Format: vision.Format(info.Format), Width: info.Width, Height: info.Height, Pix: make([]byte, info.FrameBytes())}
		if err := src.Retrieve(m.Pix); err != nil {
			t.Fatalf("%s, frame %d: %v", c.name, i, err)
		}
		c.frames = append(c.frames, m)
	}
}
