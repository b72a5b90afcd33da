package networks

import (
	"errors"
	"fmt"
	"log/slog"

	"facetrack/internal/config"
	"facetrack/internal/cuda"
	"facetrack/internal/gpuvision"
	"facetrack/internal/models"
	"facetrack/vision"
)

// GPUBackend names what runs networks on a GPU.
const GPUBackend = "cuda"

// GPUDetector is a face detector on a GPU.
type GPUDetector struct {
	*gpuvision.Detector
	GPU cuda.UUID
}

// Backend names what runs the network.
func (GPUDetector) Backend() string { return GPUBackend }

// OpenGPUDetectors opens the detector of a configuration on its GPU, several times, and tries each on a picture.
func OpenGPUDetectors(cfg config.Config, n int, log *slog.Logger) ([]GPUDetector, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	kind, graph, err := store.DetectorGraph(cfg.Detect.Model, own(cfg.Detect.Model))
	if err != nil {
		return nil, err
	}
	device, err := gpuvision.OpenDevice(cfg.CUDA.GPU)
	if err != nil {
		return nil, err
	}
	defer func() { _ = device.Close() }() // the detectors hold it
	first, err := gpuvision.NewDetector(device, kind, graph, detectorOptions(cfg), gpuOptions(cfg, log))
	if err != nil {
		return nil, fmt.Errorf("face detector on %s: %w", device.Info().Name, err)
	}
	all, err := several(first, n, tryDetector, log)
	if err != nil {
		return nil, fmt.Errorf("face detector on %s: %w", device.Info().Name, err)
	}
	detectors := make([]GPUDetector, len(all))
	for i, d := range all {
		detectors[i] = GPUDetector{d, device.Info().UUID}
	}
	return detectors, nil
}

// GPULandmarks are the networks of a landmark model on a GPU.
type GPULandmarks struct {
	*gpuvision.Landmarker
	GPU cuda.UUID
}

// Backend names what runs the networks.
func (GPULandmarks) Backend() string { return GPUBackend }

// OpenGPULandmarks opens the landmark model of a configuration on its GPU, several times, and tries each on a picture. Faces
// below minPresence get points alone.
func OpenGPULandmarks(cfg config.Config, minPresence float64, n int, log *slog.Logger) ([]GPULandmarks, error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	graphs, err := store.LandmarkGraphs(cfg.Landmarks.Model, own(cfg.Landmarks.Model))
	if err != nil {
		return nil, err
	}
	device, err := gpuvision.OpenDevice(cfg.CUDA.GPU)
	if err != nil {
		return nil, err
	}
	defer func() { _ = device.Close() }() // the landmarkers hold it
	first, err := gpuvision.NewLandmarker(device, graphs.Points, graphs.Blendshapes,
		vision.LandmarkerOptions{PresenceThreshold: minPresence}, gpuOptions(cfg, log))
	if err != nil {
		return nil, fmt.Errorf("face landmarks on %s: %w", device.Info().Name, err)
	}
	all, err := several(first, n, tryLandmarker, log)
	if err != nil {
		return nil, fmt.Errorf("face landmarks on %s: %w", device.Info().Name, err)
	}
	landmarks := make([]GPULandmarks, len(all))
	for i, l := range all {
		landmarks[i] = GPULandmarks{l, device.Info().UUID}
	}
	return landmarks, nil
}

func gpuOptions(cfg config.Config, log *slog.Logger) gpuvision.Options {
	return gpuvision.Options{Precision: cfg.Infer.Precision, MaxBatch: cfg.Infer.MaxBatch, Log: log}
}

// cloned is what shares its networks with its clones.
type cloned[T any] interface {
	Clone() (T, error)
	Prepare() error
	Close() error
}

// several makes clones until there are n, tries all of them and prepares them for batches. After an error none is left.
func several[T cloned[T]](first T, n int, try func(T) error, log *slog.Logger) (all []T, err error) {
	all = append(all, first)
	for err == nil && len(all) < n {
		var next T
		if next, err = first.Clone(); err == nil {
			all = append(all, next)
		}
	}
	for _, x := range all {
		if err == nil {
			err = try(x)
		}
	}
	if err == nil {
		prepare(all, log)
		return all, nil
	}
	for _, x := range all {
		err = errors.Join(err, x.Close())
	}
	return nil, err
}

// prepare goes on without graphs where there can be none.
func prepare[T cloned[T]](all []T, log *slog.Logger) {
	for _, x := range all {
		if err := x.Prepare(); err != nil {
			log.Warn("no CUDA graphs: kernels are launched one by one", "error", err)
			return
		}
	}
}

// grey is a picture of nothing: what it shows is whether the kernels run.
func grey() gpuvision.Frame {
	const side = 64
	pix := make([]byte, side*side*3/2)
	for i := range pix {
		pix[i] = 128
	}
	return gpuvision.Frame{Image: vision.Image{Format: vision.NV12, Width: side, Height: side, Pix: pix}}
}

func tryDetector(d *gpuvision.Detector) error {
	sights, err := d.Detect([]gpuvision.Frame{grey()})
	if err == nil {
		err = sights[0].Err
	}
	return tried(err)
}

func tryLandmarker(l *gpuvision.Landmarker) error {
	found, err := l.Find([]gpuvision.Look{{Frame: grey(), ROIs: []vision.ROI{{CX: 32, CY: 32, Size: 48}}}})
	if err == nil {
		err = found[0].Err
	}
	return tried(err)
}

func tried(err error) error {
	if err != nil {
		return fmt.Errorf("trial run: %w", err)
	}
	return nil
}
