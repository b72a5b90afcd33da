package xdf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"facetrack/lsl"
)

// Writer is a recording of any number of streams. Its methods and those of its streams may be called from several goroutines.
type Writer struct {
	opts Options

	mu      sync.Mutex
	out     output
	streams []*Stream
	closed  bool

	stop    chan struct{}
	running sync.WaitGroup
	once    sync.Once
}

// Create makes a file and starts a recording in it. A file that exists is left alone: that is an error of the kind fs.ErrExist.
func Create(path string, opts Options) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the caller names the file
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("xdf: recording %s is left alone: %w: choose another name or move it away", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("xdf: recording cannot be made: %w", err)
	}
	w, err := start(f, f, opts)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path)) //nolint:gosec // made just now
	}
	return w, nil
}

// NewWriter starts a recording on w, which Close does not close. Every call of w.Write gets one whole chunk, the first one the
// magic before it, and none comes after one that failed. What a failed write leaves behind stays there: files are better made with Create.
func NewWriter(w io.Writer, opts Options) (*Writer, error) { return start(w, nil, opts) }

func start(to io.Writer, file *os.File, opts Options) (*Writer, error) {
	opts = opts.withDefaults()
	w := &Writer{opts: opts, out: output{w: to, file: file, every: opts.BoundaryInterval}, stop: make(chan struct{})}
	if err := w.out.start(); err != nil {
		return nil, err
	}
	w.running.Go(w.flushRegularly)
	return w, nil
}

// AddStream starts a stream and writes its header. It fails with lsl.ErrInvalidInfo, ErrClosed or ErrStopped.
func (w *Writer) AddStream(info lsl.StreamInfo) (*Stream, error) {
	header, err := info.XML()
	if err != nil {
		return nil, fmt.Errorf("xdf: stream %q: %w", info.Name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := newStream(w, uint32(len(w.streams)+1), info)
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := w.out.chunk(s.String(), tagStreamHeader, s.idBytes(), header); err != nil {
		return nil, err
	}
	w.streams = append(w.streams, s)
	return s, nil
}

// Flush writes the samples that wait. It fails with ErrStopped.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *Writer) flush() error {
	for _, s := range w.streams {
		_ = s.flush() // the output keeps the error
	}
	return w.out.err
}

// Samples is how many samples of all streams were written.
func (w *Writer) Samples() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.samples
}

// Err is the failure that stopped the recording, if any.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.err
}

func (w *Writer) flushRegularly() {
	tick := time.NewTicker(w.opts.ChunkTime)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			_ = w.Flush() // the next call returns it
		}
	}
}

// Close writes what waits and the footers of the streams that have none yet. It returns the failure that stopped the recording, if
// any. Later calls return the same and do nothing.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.stop)
		w.running.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.flush() // the output keeps the error
		for _, s := range w.streams {
			_ = s.end()
		}
		w.closed = true
		w.out.close()
	})
	return w.Err()
}
