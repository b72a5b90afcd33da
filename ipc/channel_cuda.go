package ipc

import (
	"context"
	"errors"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
)

// deviceChannel reads a ring in device memory.
type deviceChannel struct {
	gpu       *cuda.Context
	reader    gpuring.DeviceReader
	downloads *downloads // the link's
}

func (d *deviceChannel) reaches() reach {
	r := reach{transport: CUDAIPC, sync: d.reader.Sync(), gpu: d.gpu.Device().UUID.String()}
	if d.reader.SameProcess() {
		r.transport = CUDA
	}
	return r
}

func (d *deviceChannel) lease(_ context.Context, t gpuring.Ticket) (Lease, error) {
	l, err := d.reader.Lease(t)
	if err != nil {
		return nil, err
	}
	if l.View().Host != nil { // capture is in this process
		return inHost{l}, nil
	}
	return &onDevice{Lease: l, downloads: d.downloads}, nil
}

// Close is called once, when no lease is left.
func (d *deviceChannel) Close() error {
	return errors.Join(d.reader.Close(), d.gpu.Close())
}
