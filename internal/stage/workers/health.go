package workers

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"facetrack/internal/cuda"
)

// patience is how many batches in a row may fail until the GPU counts as lost.
const patience = 3

// hang is how long a batch may take. Nothing but the end of the process helps against a GPU that stands still: its work cannot be
// taken back, and the calls that wait for it do not return.
var hang = 10 * time.Second

// exit ends the process; tests replace it.
var exit = os.Exit

// Health watches how batches end on the GPU.
type Health struct {
	log  *slog.Logger
	lost chan struct{} // closed when the GPU is lost

	mu     sync.Mutex
	failed int // batches in a row
	err    error
}

// NewHealth is that of a GPU that works.
func NewHealth(log *slog.Logger) *Health { return &Health{log: log, lost: make(chan struct{})} }

// Begin notes that a batch begins; ended is called with what it ends with.
func (h *Health) Begin() (ended func(error)) {
	watch := time.AfterFunc(hang, func() {
		h.log.Error("the GPU stands still: this process ends to be started again", "seconds", hang.Seconds())
		exit(1)
	})
	return func(err error) {
		watch.Stop()
		h.note(err)
	}
}

func (h *Health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	if err == nil {
		h.failed = 0
		return
	}
	h.failed++
	var driver *cuda.Error
	if h.failed >= patience || errors.As(err, &driver) && driver.Sticky() {
		h.err = err
		close(h.lost)
		return
	}
	h.log.Warn("a batch failed on the GPU", "error", err)
}

// Lost is closed when no work can be expected of the GPU any more; Err says why then.
func (h *Health) Lost() <-chan struct{} { return h.lost }

// Err is the error with which the GPU was lost, nil before.
func (h *Health) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
