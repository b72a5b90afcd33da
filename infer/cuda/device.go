package gpu

import (
	"errors"
	"fmt"
	"sync"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/nn"
)

// device is a GPU with the kernels loaded: once for all sessions on it, compiling them takes long.
type device struct {
	ctx   *cuda.Context
	set   *nn.Set
	users int
}

var devices struct {
	sync.Mutex
	open map[int]*device // by ordinal
}

// openDevice opens the device that a configuration names.
func openDevice(name string) (*device, error) {
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
	return d, nil
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

// leave ends one use; the last one unloads the kernels.
func (d *device) leave() error {
	devices.Lock()
	defer devices.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	delete(devices.open, d.ctx.Device().Ordinal)
	return errors.Join(d.set.Close(), d.ctx.Close())
}
