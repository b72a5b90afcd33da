package capture

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"facetrack/gpuring"
	"facetrack/internal/config"
	"facetrack/internal/cuda"
)

// gpus is where the cameras of this process get their GPU from. It is opened for the first ring; all cameras share
// one context, which counts them.
type gpus struct {
	cfg config.Config
	log *slog.Logger

	create func(gpuring.Options) (gpuring.Writer, error) // makes rings; tests have others

	mu   sync.Mutex
	told map[string]bool      // what is in the log already
	hung map[*farewell]string // rings that the GPU keeps from their end, and why
}

func newGPUs(cfg config.Config, log *slog.Logger) *gpus {
	return &gpus{cfg: cfg, log: log, create: gpuring.Create, told: map[string]bool{}, hung: map[*farewell]string{}}
}

// open returns the context of the GPU that is named as in the configuration, which wants to be closed; without one it returns the reason.
func (g *gpus) open(name string) (gpu *cuda.Context, why string) {
	cfg := g.cfg
	cfg.CUDA.GPU = name
	switch {
	case name == "off":
		return nil, "capture is configured to use no GPU (cuda.gpu: off)"
	case !cfg.DeviceRing():
		return nil, "capture is configured without it (ring.transports)"
	}
	if why := g.hanging(); why != "" {
		return nil, why
	}
	device, err := cuda.SelectDevice(name)
	if err == nil {
		gpu, err = cuda.Open(device)
	}
	if err != nil {
		return nil, g.tell("capture has no GPU", err)
	}
	return gpu, ""
}

// hang is a GPU, or its driver, that does not come back, without an error.
type hang struct{ what string }

func (h hang) Error() string { return h.what }

// hang keeps the cameras from a GPU that hangs, where whoever calls the driver may never return, until the ring is freed. The first
// reason stays.
func (g *gpus) hang(f *farewell, err error) (why string) {
	g.mu.Lock()
	why = g.hung[f]
	g.mu.Unlock()
	if why != "" {
		return why
	}
	why = g.tell("capture's GPU hangs", err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hung[f] = why
	return why
}

// hanging says why the GPU may not be used; "" when it may.
func (g *gpus) hanging() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f, why := range g.hung {
		if !f.ended() {
			return why
		}
		delete(g.hung, f)
	}
	return ""
}

// tell puts a reason into words and, once, into the log. That there is no GPU is no fault of a machine.
func (g *gpus) tell(what string, err error) (why string) {
	why = fmt.Sprintf("%s: %v%s", what, err, cure(err))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told[why] {
		return why
	}
	g.told[why] = true
	usual := errors.Is(err, cuda.ErrNotBuilt) || errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.NoDevice)
	if usual && g.cfg.CUDA.GPU == "auto" {
		g.log.Info("frames stay in host memory", "reason", why)
	} else {
		g.log.Warn("frames stay in host memory", "reason", why)
	}
	return why
}

// cure is what to do about a GPU that cannot be used, unless the error says so itself.
func cure(err error) string {
	var driver *cuda.Error
	var hanging hang
	switch {
	case errors.As(err, &hanging):
		return "; nvidia-smi and the kernel's log (dmesg) may tell why; start capture again to use the GPU again"
	case errors.Is(err, cuda.ErrNotBuilt), errors.Is(err, cuda.NoDevice):
		return ""
	case errors.Is(err, cuda.ErrNoDriver):
		return "; install it if this machine has an NVIDIA GPU"
	case errors.Is(err, cuda.ErrNoSuchDevice):
		return "; nvidia-smi -L lists what cuda.gpu may name"
	case errors.Is(err, cuda.OutOfMemory):
		return "; let another program give memory back, or make the rings smaller (ring.slots)"
	case errors.As(err, &driver) && driver.Sticky():
		return "; start capture again to use the GPU again"
	}
	return "; facetrack doctor looks for the cause"
}
