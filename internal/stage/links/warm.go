package links

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"facetrack/internal/cuda"
	"facetrack/internal/stage"
)

// warmth is the context of the configured GPU, made before the first frame comes: that takes 0.3 s, and seconds when many
// processes start at once, which no frame should wait for. It costs memory of the GPU, 0.5 GB, and frames may come from another
// GPU or in host memory; so it is kept only until the links have found their way. Those to this GPU have it open by then, for as
// long as they live.
type warmth struct {
	gpu atomic.Pointer[cuda.Context] // nil without a GPU: the links say why
	log *slog.Logger

	closing sync.WaitGroup
}

// up makes the context where frames may be in device memory.
func (w *warmth) up(env *stage.Env) {
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
	}
}

func (w *warmth) is() bool { return w.gpu.Load() != nil }

// down gives the context up beside the frames: releasing it takes as long as making it.
func (w *warmth) down() {
	if gpu := w.gpu.Swap(nil); gpu != nil {
		w.closing.Go(func() {
			if err := gpu.Close(); err != nil {
				w.log.Warn("GPU context not closed", "error", err)
			}
		})
	}
}

func (w *warmth) close() error {
	err := w.gpu.Swap(nil).Close()
	w.closing.Wait()
	return err
}
