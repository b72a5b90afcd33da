package gpuvision

import (
	"errors"
	"fmt"
	"sync"

	gpu "facetrack/infer/cuda"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/faces"
	"facetrack/internal/kernels/image"
)

// Device is a GPU with all kernels loaded, once for a process however often it is opened.
type Device struct {
	*kernels
	leave func() error
}

// kernels is what the Devices of one GPU share.
type kernels struct {
	counted
	networks *gpu.Device
	images   *image.Set
	faces    *faces.Set
}

var devices struct {
	sync.Mutex
	open map[int]*kernels // by ordinal
}

// OpenDevice opens the device that a configuration names: as cuda.SelectDevice, or "off".
func OpenDevice(name string) (*Device, error) {
	networks, err := gpu.OpenDevice(name)
	if err != nil {
		return nil, err
	}
	devices.Lock()
	defer devices.Unlock()
	ordinal := networks.Context().Device().Ordinal
	if k := devices.open[ordinal]; k != nil {
		return &Device{k, k.use()}, networks.Close()
	}
	k, err := load(networks)
	if err != nil {
		return nil, errors.Join(err, networks.Close())
	}
	if devices.open == nil {
		devices.open = map[int]*kernels{}
	}
	devices.open[ordinal] = k
	return &Device{k, k.use()}, nil
}

func load(networks *gpu.Device) (*kernels, error) {
	k := &kernels{networks: networks}
	k.end = k.unload
	var err error
	if k.images, err = image.Load(k.Context()); err == nil {
		if k.faces, err = faces.Load(k.Context()); err == nil {
			return k, nil
		}
		err = errors.Join(err, k.images.Close())
	}
	return nil, fmt.Errorf("kernels for %s: %w", k.Info().Name, err)
}

func (k *kernels) unload() error {
	delete(devices.open, k.Info().Ordinal)
	return errors.Join(k.faces.Close(), k.images.Close(), k.networks.Close())
}

// Context is the device's context.
func (k *kernels) Context() *cuda.Context { return k.networks.Context() }

// Info describes the device.
func (k *kernels) Info() cuda.Device { return k.Context().Device() }

// again is one more use of the device.
func (d *Device) again() (*Device, error) {
	devices.Lock()
	defer devices.Unlock()
	if d.users == 0 {
		return nil, cuda.ErrClosed
	}
	return &Device{d.kernels, d.use()}, nil
}

// Close gives the device up. What was made with it stays usable until it is closed. It may be called again.
func (d *Device) Close() error {
	devices.Lock()
	defer devices.Unlock()
	return d.leave()
}
