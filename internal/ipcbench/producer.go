package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels"
	"facetrack/ipc"
)

// producer is this process.
type producer struct {
	o     Options
	plan  plan
	bus   *bus
	pub   *ipc.Publisher
	gpu   *cuda.Context // nil: without
	set   *kernels.Set
	noGPU string // why it is nil

	writers []gpuring.Writer
	servers []*ipc.Server
	nc      *ipc.Conn // of the servers, which keep a connection busy
	acks    map[string]chan uint64
	marks   marks
	readers []*child
	serial  atomic.Int64
}

func newProducer(o Options) (_ *producer, err error) {
	p := &producer{o: o, plan: o.plan(), acks: map[string]chan uint64{}, marks: marks{at: map[*byte]uint64{}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if _, err := gpuring.CleanStale(o.Dir, rig); err != nil { // of benchmarks that were killed
		return nil, err
	}
	if err := p.openGPU(); err != nil {
		p.noGPU = err.Error()
	}
	if p.bus, err = startBus(); err != nil {
		return nil, err
	}
	p.pub = ipc.NewPublisher(p.bus.Conn.Conn)
	p.nc, err = ipc.Connect(p.bus.server.ClientURL(), "pixels", slog.New(slog.DiscardHandler))
	return p, err
}

func (p *producer) openGPU() error {
	if p.o.GPU == "off" {
		return errors.New("the GPU is switched off")
	}
	d, err := cuda.SelectDevice(p.o.GPU)
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(d)
	if err != nil {
		return err
	}
	if p.set, err = kernels.Load(gpu); err != nil {
		return errors.Join(err, gpu.Close())
	}
	p.gpu = gpu
	return nil
}

// feeds makes the producer's side of every transport that can run with a format; noRing is why none in device memory can.
func (p *producer) feeds(f gpuring.Format) (all []*feed, noRing, err error) {
	shape := p.o.geometry(f)
	base := fmt.Sprintf("p%d-%s", os.Getpid(), strings.ToLower(string(f)))
	rings := map[bool]gpuring.Writer{}
	for _, t := range transports {
		if t.Kind == kindPython || t.needsGPU() && p.gpu == nil {
			continue
		}
		to := &feed{transport: t, shape: shape, marks: &p.marks}
		if t.Kind == kindMessage {
			to.camera = base + "-nats"
			to.feeder = &messageFeeder{nc: p.bus.Conn, camera: to.camera, pixels: make([]byte, shape.FrameBytes())}
			all = append(all, to)
			continue
		}
		device := t.Kind == kindDevice
		to.camera = base + map[bool]string{true: "-gpu", false: "-host"}[device]
		if device && noRing != nil {
			continue
		}
		if rings[device] == nil {
			w, err := p.ring(to.camera, shape, device)
			if device && errors.Is(err, gpuring.ErrDevice) {
				noRing = err
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			rings[device] = w
		}
		to.feeder = &ringFeeder{w: rings[device], pub: p.pub, camera: to.camera}
		all = append(all, to)
	}
	return all, noRing, nil
}

func (p *producer) ring(camera string, shape gpuring.Geometry, device bool) (gpuring.Writer, error) {
	o := gpuring.Options{Dir: p.o.Dir, Rig: rig, Camera: camera, Geometry: shape}
	if device {
		o.GPU = p.gpu
	}
	w, err := gpuring.Create(o)
	if err != nil {
		return nil, err
	}
	p.writers = append(p.writers, w)
	if device {
		return w, nil
	}
	s, err := ipc.NewServer(p.nc.Conn, rig, camera, w, slog.New(slog.DiscardHandler), ipc.ServerOptions{})
	if err != nil {
		return nil, err
	}
	p.servers = append(p.servers, s)
	return w, nil
}

// reader starts one more second process.
func (p *producer) reader(ctx context.Context) (*child, error) {
	c, err := startChild(fmt.Sprintf("consumer %d", p.serial.Add(1)), p.o.Child)
	if err != nil {
		return nil, err
	}
	o := order{Op: opStart, NATS: p.bus.server.ClientURL()}
	if p.gpu != nil {
		o.GPU = p.gpu.Device().ID()
	}
	if _, err := c.order(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close gives everything back.
func (p *producer) Close() error {
	var all []error
	for _, c := range p.readers {
		all = append(all, c.Close())
	}
	for _, s := range p.servers {
		all = append(all, s.Close())
	}
	for _, w := range p.writers {
		all = append(all, w.Close())
	}
	if p.nc != nil {
		all = append(all, p.nc.Close())
	}
	if p.bus != nil {
		all = append(all, p.bus.Close())
	}
	if p.set != nil {
		all = append(all, p.set.Close())
	}
	return errors.Join(append(all, p.gpu.Close())...)
}
