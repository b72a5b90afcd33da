package source

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Pixel formats of Info.Format.
const (
	BGR  = "BGR"
	NV12 = "NV12"
	YUYV = "YUYV"
)

// Info describes the frames of a source. All frames of a source have the same size and format.
type Info struct {
	Width, Height int
	Format        string  // BGR, NV12 or YUYV
	FPS           float64 // nominal frames per second, 0 when unknown
	Frames        int     // number of frames, -1 when unknown or endless; a container's own estimate for video files
	Live          bool    // frames come at the camera's pace and are lost when nobody grabs them
	InStep        bool    // a Pacer plays it in step with all others of its rate on this machine
	Phase         float64 // 0 to 1: how much of a frame's time it is behind them
	Seekable      bool    // Skip moves through the material, so that a position can be resumed
	Name          string  // for people: the specification without passwords
}

// FrameBytes returns the bytes of one frame, 0 for a format that is not one of the three.
func (i Info) FrameBytes() int { return frameBytes(i.Format, i.Width, i.Height) }

// SameGeometry reports whether frames of both sources fit in the same buffer.
func (i Info) SameGeometry(o Info) bool {
	return i.Width == o.Width && i.Height == o.Height && i.Format == o.Format
}

func (i Info) geometry() string { return fmt.Sprintf("%d×%d %s", i.Width, i.Height, i.Format) }

// Source yields frames one after another. It belongs to one goroutine: cancel the context to stop a Grab.
type Source interface {
	// Info describes the frames. It changes only after Grab has returned ErrGeometry.
	Info() Info
	// Grab advances to the next frame and returns its capture instant in CLOCK_MONOTONIC nanoseconds, as early
	// as the source knows it. Errors: io.EOF at the end, ErrLost when a live source went away, ErrCorrupt,
	// ErrGeometry, or the context's own; after the context cut a live Grab short the source has to be closed.
	Grab(ctx context.Context) (captureNS int64, err error)
	// Retrieve writes the grabbed frame into dst, which has FrameBytes bytes. A frame may be retrieved more than
	// once. From a live source ErrCorrupt concerns this frame only: count it as dropped and go on.
	Retrieve(dst []byte) error
	// Skip moves on by n frames without decoding more than it must; io.EOF when there are fewer. Live sources ignore it.
	Skip(n int64) error
	// Close gives everything back. It may be called more than once.
	Close() error
}

// Options of Open. The zero value asks for each source's own defaults.
type Options struct {
	Width, Height int           // asked of a camera; it may answer with another size
	FPS           float64       // asked of a camera; the rate of images, and of files that do not name one (default 30)
	Pixel         string        // asked of a camera: MJPG (default), YUYV or NV12
	Timeout       time.Duration // a live source that gives no frame for so long is lost (default 5 s)
	Logger        *slog.Logger  // default slog.Default()
}

// defaultFPS is assumed where neither the material nor the options name a rate.
const defaultFPS = 30

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Pixel == "" {
		o.Pixel = "MJPG"
	}
	return o
}

// rate returns the first frame rate that is known: the material's, the option's, the default. Some network
// streams announce their 90 kHz time base as a rate; nothing here runs beyond 1000 frames/s.
func (o Options) rate(own float64) float64 {
	if own > 0 && own <= 1000 {
		return own
	}
	if o.FPS > 0 {
		return o.FPS
	}
	return defaultFPS
}
