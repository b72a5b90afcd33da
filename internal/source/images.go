package source

import (
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"io"
	"os"
	"path/filepath"
	"strings"

	"facetrack/internal/clock"
)

// images plays PNG and JPEG files one after another, in natural order of their names.
type images struct {
	info   Info
	files  []string
	at     int // files grabbed so far
	canvas canvas
}

func openFolder(dir string, opts Options) (Source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, pathError(dir, err)
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && isImage(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: folder %s holds no .png, .jpg or .jpeg", ErrNotFound, dir)
	}
	return openImages(files, dir, opts)
}

func openGlob(pattern string, opts Options) (Source, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern %s: %w", ErrSpec, pattern, err)
	}
	var files []string
	for _, f := range found {
		if isImage(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: no .png, .jpg or .jpeg matches %s", ErrNotFound, pattern)
	}
	return openImages(files, pattern, opts)
}

func isImage(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return false
}

func openImages(files []string, name string, opts Options) (Source, error) {
	sortNatural(files)
	w, h, err := commonSize(files)
	if err != nil {
		return nil, err
	}
	info := Info{Width: w, Height: h, Format: BGR, FPS: opts.rate(opts.FPS), Frames: len(files), Seekable: true, Name: name}
	return &images{info: info, files: files}, nil
}

// commonSize reads every header, so that an odd file stops the start of a recording and not its middle.
func commonSize(files []string) (w, h int, err error) {
	for i, f := range files {
		c, err := imageConfig(f)
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			w, h = c.Width, c.Height
		}
		if c.Width != w || c.Height != h {
			return 0, 0, fmt.Errorf("%w: %s is %d×%d, but %s is %d×%d; all pictures of a sequence need one size",
				ErrUnsupported, f, c.Width, c.Height, files[0], w, h)
		}
	}
	return w, h, nil
}

func imageConfig(path string) (image.Config, error) {
	f, err := os.Open(path) // #nosec G304 -- the operator names the files
	if err != nil {
		return image.Config{}, pathError(path, err)
	}
	c, _, err := image.DecodeConfig(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		return c, pathError(path, cerr)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return c, checkSize(path, c.Width, c.Height)
}

func (s *images) Info() Info { return s.info }

func (s *images) Grab(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.at < 0 {
		return 0, ErrClosed
	}
	if s.at >= len(s.files) {
		return 0, io.EOF
	}
	s.at++
	return clock.Now(), nil
}

func (s *images) Retrieve(dst []byte) error {
	if s.at < 1 {
		return ErrNoFrame
	}
	if err := checkBuffer(dst, s.info); err != nil {
		return err
	}
	path := s.files[s.at-1]
	img, err := decodeImage(path)
	if err != nil {
		return err
	}
	if b := img.Bounds(); b.Dx() != s.info.Width || b.Dy() != s.info.Height {
		return fmt.Errorf("%w: %s is now %d×%d; it was %d×%d at the start", ErrCorrupt, path, b.Dx(), b.Dy(), s.info.Width, s.info.Height)
	}
	s.canvas.bgr(dst, img)
	return nil
}

func decodeImage(path string) (image.Image, error) {
	f, err := os.Open(path) // #nosec G304 -- the operator names the files
	if err != nil {
		return nil, pathError(path, err)
	}
	img, _, err := image.Decode(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		return nil, pathError(path, cerr)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return img, nil
}

func (s *images) Skip(n int64) error {
	if s.at < 0 {
		return ErrClosed
	}
	if n > int64(len(s.files)-s.at) {
		s.at = len(s.files)
		return io.EOF
	}
	s.at += int(max(n, 0))
	return nil
}

func (s *images) Close() error {
	s.at = -1
	return nil
}
