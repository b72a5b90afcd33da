package ipc

import (
	"context"
	"errors"
	"fmt"
	"os"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/fault"
)

// cudaRung maps device memory.
type cudaRung struct{}

func (cudaRung) transport() Transport { return CUDAIPC }

func (cudaRung) attach(ctx context.Context, l *Link, reply *AttachReply) (channel, error) {
	if l.opts.GPU == "off" {
		return nil, errOff
	}
	if err := reply.offered(CUDAIPC); err != nil {
		return nil, err
	}
	if reply.Ring.Device == nil {
		return nil, errNoMemory
	}
	a := &gpuAttach{link: l, reply: reply}
	ch, err := a.open(ctx)
	if err == nil {
		return ch, nil
	}
	if ended := a.ended(ctx, err); ended != nil {
		return nil, ended
	}
	return nil, a.why(err)
}

// gpuAttach is one try to read capture's device memory, and what has been found out on the way.
type gpuAttach struct {
	link   *Link
	reply  *AttachReply
	here   []cuda.Device // the GPUs of this process
	device cuda.Device   // the one that is to read
}

// open ends with a channel that was proved to read what capture writes.
func (a *gpuAttach) open(ctx context.Context) (_ channel, err error) {
	if err := a.choose(); err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(a.device)
	if err != nil {
		return nil, err
	}
	ch, err := a.openRing(gpu)
	if err != nil {
		return nil, errors.Join(err, gpu.Close())
	}
	if err = a.prove(ctx, ch.reader); err == nil {
		ch.downloads, err = a.link.downloadsOn(a.device, a.reply.Ring.Geometry.FrameBytes())
	}
	if err != nil {
		return nil, errors.Join(err, ch.Close())
	}
	return ch, nil
}

// choose finds capture's GPU, which has another number in each process, and the one that is to read its memory.
func (a *gpuAttach) choose() (err error) {
	if a.here, err = cuda.Devices(); err != nil {
		return err
	}
	wanted, err := cuda.ParseUUID(a.reply.Ring.Device.GPU)
	if err != nil {
		return fmt.Errorf("%w: %w", errInvisible, err)
	}
	capture, err := cuda.DeviceByUUID(wanted)
	if err != nil {
		return notFound(errInvisible, err)
	}
	if a.device, err = a.configured(capture); err != nil {
		return err
	}
	switch {
	case a.samePID(): // it may be the same process, where there is nothing to share
	case a.device.MIG || capture.MIG:
		return errMIG
	case a.device.Integrated && a.device.Major < thor || fault.At("integrated") != "":
		return errIntegrated
	}
	return nil
}

// notFound tells a GPU that is not here from one that the driver sees and cannot describe.
func notFound(cause, err error) error {
	var driver *cuda.Error
	if errors.As(err, &driver) && !errors.Is(err, cuda.ErrNoSuchDevice) {
		cause = errSick
	}
	return fmt.Errorf("%w: %w", cause, err)
}

func (a *gpuAttach) samePID() bool { return a.reply.Ring.Device.PID == os.Getpid() }

// thor is the compute capability, before the point, of the first Jetson with memory IPC.
const thor = 10

// configured returns capture's GPU unless another one is configured, which must reach it.
func (a *gpuAttach) configured(capture cuda.Device) (cuda.Device, error) {
	if fault.At("peer") != "" { // as if another GPU were configured
		return capture, errNoPeer
	}
	if a.link.opts.GPU == "" || a.link.opts.GPU == "auto" {
		return capture, nil
	}
	own, err := cuda.SelectDevice(a.link.opts.GPU)
	if err != nil {
		return capture, notFound(errNotConfigured, err)
	}
	if own.UUID == capture.UUID {
		return own, nil
	}
	reachable, err := own.CanAccessPeer(capture)
	if err == nil && !reachable {
		err = errNoPeer
	}
	return own, err
}

// openRing maps the ring; the channel owns gpu, this process's counted share of the context.
func (a *gpuAttach) openRing(gpu *cuda.Context) (*deviceChannel, error) {
	if fault.At("pid") != "" {
		return nil, &cuda.Error{Call: openMemory, Code: cuda.InvalidContext, Name: "CUDA_ERROR_INVALID_CONTEXT"}
	}
	if fault.At("permission") != "" {
		return nil, &cuda.Error{Call: openMemory, Code: cuda.NotPermitted, Name: "CUDA_ERROR_NOT_PERMITTED"}
	}
	d := a.link.located(a.reply.Ring)
	opened, err := gpuring.OpenDevice(d, a.link.identity, gpuring.DeviceOptions{GPU: gpu, Sync: a.link.opts.Sync, Stuck: a.link.opts.Stuck})
	if err != nil {
		return nil, err
	}
	reader, ok := opened.(gpuring.DeviceReader)
	if !ok {
		return nil, errors.Join(errNoMemory, opened.Close())
	}
	return &deviceChannel{gpu: gpu, reader: reader}, nil
}

// why puts a failure into words.
func (a *gpuAttach) why(err error) error {
	f := &failure{
		err: err, capture: *a.reply.Ring.Device, uid: a.reply.UID, wanted: a.link.opts.GPU, device: a.device, here: a.here,
		samePID: a.samePID() || fault.At("pid") != "", wsl: exists("/dev/dxg"), sync: a.link.opts.Sync,
	}
	if a.reply.Host != a.link.host {
		f.host = a.reply.Host
	}
	return &explained{text: f.reason(), err: err}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
