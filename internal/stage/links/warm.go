package links

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"facetrack/internal/cuda"
	"facetrack/internal/stage"
)

// warmth is the context of the configured GPU, made before the first frame comes: that takes 0.3 s, and seconds when many
// processes start at once, which no frame should wait for. It costs memory of the GPU, 0.5 GB, and frames may come from another
// GPU or in host memory; so it is kept only until the links have found their way, and not for long where some never do: a camera may be
// dead, and a stage without work reads no frame. Links to this GPU have it open by then, for as long as they live.
type warmth struct {
	gpu atomic.Pointer[cuda.Context] // nil without a GPU: the links say why
	log *slog.Logger
	end *time.Timer

	mu      sync.Mutex // held while closing counts
	closing sync.WaitGroup
}

// warmFor is how long the context waits for frames: cameras are open, and a face may have come.
const warmFor = 30 * time.Second

// up makes the context where frames may be in device memory.
func (w *warmth) up(env *stage.Env) { w.upFor(env, warmFor) }

func (w *warmth) upFor(env *stage.Env, limit time.Duration) {
	w.log = env.Log
	if !env.Config.DeviceRing() {
		return
	}
	device, err := cuda.SelectDevice(env.Config.CUDA.GPU)
	if err == nil {
		var gpu *cuda.Context
		gpu, err = cuda.Open(device)
		w.gpu.Store(gpu)
	}
	if err != nil {
		w.log.Debug("no GPU yet", "error", err)
		return
	}
	w.end = time.AfterFunc(limit, w.down)
}

func (w *warmth) is() bool { return w.gpu.Load() != nil }

// down gives the context up beside the frames: releasing it takes as long as making it.
func (w *warmth) down() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gpu := w.gpu.Swap(nil); gpu != nil {
		w.closing.Go(func() {
			if err := gpu.Close(); err != nil {
				w.log.Warn("GPU context not closed", "error", err)
			}
		})
	}
}

func (w *warmth) close() error {
	if w.end != nil {
		w.end.Stop()
	}
	w.mu.Lock()
	err := w.gpu.Swap(nil).Close()
	w.mu.Unlock()
	w.closing.Wait()
	return err
}
