package app

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"facetrack/internal/config"
	"facetrack/internal/stage"
)

// gpu is the flag as configurations name it, "" where it was not given.
func (f *StageFlags) gpu() string {
	if f.GPU == "cpu" {
		return "off"
	}
	return f.GPU
}

// mine leaves the cameras that this process works on in a configuration, and has the networks run on the flag's GPU. A camera whose
// ring may be on any GPU is everybody's: where there are several, each camera names its own.
func (f *StageFlags) mine(cfg config.Config) config.Config {
	if len(f.Camera) == 0 && f.GPU == "" {
		return cfg
	}
	all := cfg.Cameras
	cfg.Cameras = nil
	for _, c := range all {
		of := cfg.GPUOf(c)
		if (len(f.Camera) == 0 || slices.Contains(f.Camera, c.Name)) && (f.GPU == "" || of == f.gpu() || of == config.Auto) {
			cfg.Cameras = append(cfg.Cameras, c)
		}
	}
	set(&cfg.CUDA.GPU, f.gpu())
	return cfg
}

// checkShare finds flags that fit nothing of the configuration with which the process starts.
func (f *StageFlags) checkShare(cfg config.Config) error {
	for _, name := range f.Camera {
		if !cfg.Has(name) {
			return fmt.Errorf("--camera %v: not all of them are in the configuration", f.Camera)
		}
	}
	if f.GPU == "" {
		return nil
	}
	if len(f.mine(cfg).Cameras) == 0 && len(cfg.Cameras) > 0 {
		return fmt.Errorf("no camera of the configuration is on GPU %s: name it as gpu of a camera, or as cuda.gpu", f.GPU)
	}
	cfg.CUDA.GPU = f.gpu()
	return cfg.Validate()
}

// share is what one of several processes of a stage has; nil where the flags leave all cameras to this one. A camera by its GPU is
// claimed: a frame that two processes work on would be tracked twice.
func (f *StageFlags) share(name, url string, cfg config.Config) (*stage.Share, error) {
	if len(f.Camera) == 0 && f.GPU == "" {
		return nil, nil
	}
	claim := func(camera string) (io.Closer, error) { return claimed(name, url, cfg.Rig, camera) }
	if f.GPU == "" {
		claim = nil
	}
	share := stage.NewShare(claim)
	if err := share.Take(cameraNames(f.mine(cfg))...); err != nil {
		return nil, errors.Join(err, share.Close())
	}
	return share, nil
}

// claimed holds a name in the abstract name space, which goes with the process that has it, however that ends.
func claimed(name, url, rig, camera string) (io.Closer, error) {
	id := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s", url, rig, name, camera))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("@facetrack-%x", id[:16]), Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another %s process has camera %s: with one for each GPU, name a gpu for each camera in the configuration", name, camera)
	}
	if err != nil {
		return nil, err // a *UnixListener that is nil is no nil interface
	}
	return l, nil
}
