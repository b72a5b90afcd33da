package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"facetrack/internal/source"
)

// check finds what cannot be measured before anything starts.
func (b *BenchCamerasCmd) check() error {
	if _, err := os.Stat(b.Clip); err != nil {
		return fmt.Errorf("the recording: %w", err)
	}
	for _, c := range []struct {
		ok    bool
		flag  string
		value any
		cure  string
	}{
		{b.Frames >= 1, "--frames", b.Frames, "give 1 or more"},
		{b.Cameras >= 0, "--cameras", b.Cameras, "give 1 or more, or leave it out to search"},
		{b.From >= 1, "--from", b.From, "give 1 or more"},
		{b.Most >= b.From, "--most", b.Most, fmt.Sprintf("give at least the %d of --from, or lower that", b.From)},
		{b.Trial > 0, "--trial", b.Trial, "give a time above 0, as 10s"},
		{b.Hold > 0, "--hold", b.Hold, "give a time above 0, as 60s"},
		{b.Limit > 0, "--limit", b.Limit, "give a time above 0, as 33ms"},
		{b.FPS > 0 && b.FPS <= 1000, "--fps", b.FPS, "give frames per second above 0, at most 1000"},
		{b.AtLeast >= 0 && b.AtLeast <= b.greatest(), "--at-least", b.AtLeast, fmt.Sprintf("no more than %d cameras are tried: give at most that, or raise it", b.greatest())},
		{b.Ratio >= 0, "--ratio", b.Ratio, "give a number above 0, as 4"},
		{validSize(b.Size), "--size", b.Size, "give even width and height from 160x120 to 8192x8192, as 1920x1080"},
		{validFormat(b.Format), "--format", b.Format, "give NV12, YUYV or BGR"},
	} {
		if !c.ok {
			return fmt.Errorf("%s=%v: %s", c.flag, c.value, c.cure)
		}
	}
	return nil
}

// greatest is how many cameras are tried at most.
func (b *BenchCamerasCmd) greatest() int {
	if b.Cameras > 0 {
		return b.Cameras
	}
	return b.Most
}

func validSize(size string) bool {
	p, err := source.ParseSynthetic("synthetic:faces=0,size=" + size)
	return err == nil && size == fmt.Sprintf("%dx%d", p.Width, p.Height)
}

func validFormat(format string) bool {
	p, err := source.ParseSynthetic("synthetic:faces=0,format=" + format)
	return err == nil && p.Format == strings.ToUpper(format)
}

// kept is how many frames of the recording the cameras will play: it is opened as they open it, so that it shows now if it cannot be.
func (b *BenchCamerasCmd) kept(ctx context.Context) (int, error) {
	clip, err := filepath.Abs(b.Clip)
	if err != nil {
		return 0, err
	}
	src, err := source.Open(ctx, b.source(0, clip), source.Options{})
	if err != nil {
		return 0, err
	}
	return src.Info().Frames, src.Close()
}
