package ipcbench

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"facetrack/gpuring"
	"facetrack/internal/cuda"
	"facetrack/ipc"
)

// source is how a consumer gets at frames.
type source interface {
	// fetch brings a frame to where the lane's kernel can read it, or queues that on the lane's stream.
	fetch(l *lane, m *nats.Msg, f *ipc.Frame) (frame, error)
	note() (how, sync string)
	Close() error
}

// frame is one that a kernel may read, or, without a GPU, the CPU.
type frame struct {
	at      uint64
	host    []byte
	release func() error
}

const readerName = "ipcbench"

func (c *consumer) attach(o order) (source, error) {
	switch {
	case o.Kind == kindDevice && o.Ring != nil && c.gpu != nil:
		r, err := gpuring.OpenDevice(*o.Ring, readerName, gpuring.DeviceOptions{GPU: c.gpu, Sync: o.Sync, Stuck: stuck})
		if err != nil {
			return nil, err
		}
		return &inDevice{r}, nil
	case (o.Kind == kindPinned || o.Kind == kindPageable) && o.Ring != nil:
		return c.openHost(o)
	case o.Kind == kindMessage:
		return inMessage{}, nil
	case o.Kind == kindCopy:
		link, err := ipc.NewLink(c.nc.Conn, rig, o.Camera, readerName, ipc.LinkOptions{Allow: []ipc.Transport{ipc.Copy}, GPU: "off"})
		if err != nil {
			return nil, err
		}
		return &inCopy{link}, link.Attach(context.Background(), "")
	}
	return nil, fmt.Errorf("the second process cannot read by %q", o.Kind)
}

// stuck ends this process: a producer that was killed in the middle of an upload leaves a stream that nothing else ends.
func stuck(err error) {
	_, _ = fmt.Fprintf(os.Stderr, "facetrack bench ipc: %v\n", err)
	os.Exit(1)
}

// inDevice reads the producer's own device memory.
type inDevice struct{ gpuring.Reader }

func (s *inDevice) fetch(l *lane, _ *nats.Msg, f *ipc.Frame) (frame, error) {
	lease, err := s.Lease(f.Ticket())
	if err != nil {
		return frame{}, err
	}
	if err := lease.View().Fence.Wait(l.stream); err != nil {
		return frame{}, errors.Join(err, lease.Release())
	}
	l.down += 8 // the proof word
	return frame{at: lease.View().Device, release: lease.Release}, nil
}

func (s *inDevice) note() (how, sync string) {
	if d, ok := s.Reader.(gpuring.DeviceReader); ok {
		sync = string(d.Sync())
	}
	return "", sync
}

// inHost reads a ring in shared memory.
type inHost struct {
	gpuring.Reader
	mapping []byte       // of the pixel file, to page-lock it; nil for uploads from the reader's own mapping
	locked  *cuda.Pinned // the mapping
	first   int          // where slot 0 lies in it
	step    int
	bytes   int
	how     string
}

func (c *consumer) openHost(o order) (source, error) {
	r, err := gpuring.Open(*o.Ring, readerName)
	if err != nil {
		return nil, err
	}
	s := &inHost{Reader: r, bytes: o.Shape.FrameBytes()}
	if c.gpu == nil {
		s.how = "not uploaded: no GPU; the CPU looks at the frame where it lies"
		return s, nil
	}
	if o.Kind == kindPinned {
		err = s.lock(c.gpu, o.Ring)
	}
	return s, err
}

// lock maps the pixels once more, for writing, because the driver does not page-lock a mapping that is for reading only.
func (s *inHost) lock(gpu *cuda.Context, d *gpuring.Descriptor) error {
	f, err := os.OpenFile(d.PixelPath, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	mem, err := unix.Mmap(int(f.Fd()), 0, int(d.PixelBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map %s: %w", d.PixelPath, err)
	}
	page := os.Getpagesize()
	s.step = (s.bytes + page - 1) / page * page
	s.first = int(d.PixelBytes) - d.Geometry.Slots*s.step
	locked, err := gpu.Register(mem)
	if err != nil {
		s.how = fmt.Sprintf("the mapping cannot be page-locked (%v): the driver stages the uploads", err)
		return unix.Munmap(mem)
	}
	s.mapping, s.locked, s.how = mem, locked, "the consumer's mapping is page-locked"
	return nil
}

func (s *inHost) fetch(l *lane, _ *nats.Msg, f *ipc.Frame) (frame, error) {
	lease, err := s.Lease(f.Ticket())
	if err != nil {
		return frame{}, err
	}
	pixels := lease.View().Host
	if s.locked != nil {
		at := s.first + f.Slot*s.step
		pixels = s.mapping[at : at+s.bytes]
	}
	return l.upload(pixels, lease.Release)
}

func (s *inHost) note() (how, sync string) { return s.how, "" }

func (s *inHost) Close() error {
	err := errors.Join(s.Reader.Close(), s.locked.Close())
	s.locked = nil
	if s.mapping != nil {
		err = errors.Join(err, unix.Munmap(s.mapping))
		s.mapping = nil
	}
	return err
}

// inMessage has the pixels in the message.
type inMessage struct{}

func (inMessage) fetch(l *lane, m *nats.Msg, f *ipc.Frame) (frame, error) {
	if want := l.frameBytes; len(m.Data) != want {
		return frame{}, fmt.Errorf("frame %d came with %d of %d bytes", f.Seq, len(m.Data), want)
	}
	return l.upload(m.Data, func() error { return nil })
}

func (inMessage) note() (how, sync string) { return "", "" }
func (inMessage) Close() error             { return nil }

// inCopy asks for each frame.
type inCopy struct{ *ipc.Link }

func (s *inCopy) fetch(l *lane, _ *nats.Msg, f *ipc.Frame) (frame, error) {
	lease, err := s.Lease(context.Background(), *f)
	if err != nil {
		return frame{}, err
	}
	pixels, err := lease.Host()
	if err != nil {
		return frame{}, errors.Join(err, lease.Release())
	}
	return l.upload(pixels, lease.Release)
}

func (s *inCopy) note() (how, sync string) { return "", "" }
