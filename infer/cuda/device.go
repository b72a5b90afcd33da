package gpu

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// Device is a GPU with the kernels of networks loaded: once for a process however often it is opened, compiling them takes long.
type Device struct {
	shared *device
	close  func() error
}

// device is what the Devices of one GPU share.
type device struct {
	ctx   *cuda.Context
	set   *nn.Set
	users int
}

var devices struct {
	sync.Mutex
	open map[int]*device // by ordinal
}

// OpenDevice opens the device that a configuration names: as cuda.SelectDevice, or "off".
func OpenDevice(name string) (*Device, error) {
	if name == "off" {
		return nil, errors.New("the GPU is switched off (cuda.gpu: off)")
	}
	found, err := cuda.SelectDevice(name)
	if err != nil {
		return nil, err
	}
	devices.Lock()
	defer devices.Unlock()
	d := devices.open[found.Ordinal]
	if d == nil {
		if d, err = loadDevice(found); err != nil {
			return nil, err
		}
		if devices.open == nil {
			devices.open = map[int]*device{}
		}
		devices.open[found.Ordinal] = d
	}
	d.users++
	return &Device{d, sync.OnceValue(d.leave)}, nil
}

func loadDevice(found cuda.Device) (*device, error) {
	ctx, err := cuda.Open(found)
	if err != nil {
		return nil, err
	}
	set, err := nn.Load(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kernels for %s: %w", found.Name, err), ctx.Close())
	}
	return &device{ctx: ctx, set: set}, nil
}

// Context is the device's context.
func (d *Device) Context() *cuda.Context { return d.shared.ctx }

// Kernels are the kernels of networks.
func (d *Device) Kernels() *nn.Set { return d.shared.set }

// Close ends this use; the last one unloads the kernels. It may be called again.
func (d *Device) Close() error { return d.close() }

func (d *device) leave() error {
	devices.Lock()
	defer devices.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	delete(devices.open, d.ctx.Device().Ordinal)
	return errors.Join(d.set.Close(), d.ctx.Close())
}
