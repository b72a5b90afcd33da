package ipcbench

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/kernels"
	"facetrack/ipc"
)

// feeder is how the producer's side of a transport takes a frame.
type feeder interface {
	// begin gives host memory for a frame, which nobody reads.
	begin(ctx context.Context) (host []byte, err error)
	// publish sends the frame that begin gave; f has all but the ring's part.
	publish(f *ipc.Frame) error
	bytesUp() int64 // passed to upload calls so far
}

// feed is one transport of one format on the producer's side.
type feed struct {
	feeder
	transport
	camera string
	shape  gpuring.Geometry
	marks  *marks
	seq    uint64
}

func (f *feed) name() string { return f.Name + " " + string(f.shape.Format) }

// ringFeeder publishes in a ring.
type ringFeeder struct {
	w      gpuring.Writer
	pub    *ipc.Publisher
	claim  gpuring.Claim
	camera string
	up     int64
}

func (r *ringFeeder) begin(ctx context.Context) ([]byte, error) {
	for deadline := time.Now().Add(patience); ; {
		claim, err := r.w.Begin()
		if err == nil {
			r.claim = claim
			return claim.View().Host, nil
		}
		if !errors.Is(err, gpuring.ErrNoFreeSlot) || ctx.Err() != nil || time.Now().After(deadline) {
			return nil, errors.Join(err, ctx.Err())
		}
		time.Sleep(10 * time.Microsecond)
	}
}

func (r *ringFeeder) publish(f *ipc.Frame) error {
	t, err := r.claim.Publish(f.Seq)
	if err != nil {
		return err
	}
	if r.w.Descriptor().Device != nil {
		r.up += int64(r.w.Geometry().FrameBytes()) + 8 // with the ready word
	}
	f.Ring, f.Slot, f.Generation = t.RingID, t.Slot, t.Generation
	return r.pub.Publish(frameSubject(r.camera), f)
}

func (r *ringFeeder) bytesUp() int64 { return r.up }

// messageFeeder sends pixels in messages.
type messageFeeder struct {
	nc     *ipc.Conn
	camera string
	pixels []byte
}

func (m *messageFeeder) begin(context.Context) ([]byte, error) { return m.pixels, nil }

func (m *messageFeeder) publish(f *ipc.Frame) error {
	f.Ring = "message"
	text, err := f.AppendJSON(nil)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: frameSubject(m.camera), Header: nats.Header{headerFrame: {string(text)}}, Data: m.pixels}
	return m.nc.PublishMsg(msg)
}

func (m *messageFeeder) bytesUp() int64 { return 0 }

// attach lets a second process open a transport.
func (f *feed) attach(ctx context.Context, c *child) (answer, error) {
	o := order{Op: opOpen, Name: f.name(), Kind: f.Kind, Sync: f.Sync, Camera: f.camera, Shape: f.shape}
	if r, ok := f.feeder.(*ringFeeder); ok {
		d := r.w.Descriptor()
		o.Ring = &d
	}
	return c.order(ctx, o)
}

// marks are what the frames in host memory are stamped with, by place. Transports share rings.
type marks struct {
	at   map[*byte]uint64
	last uint64
}

// stamp writes a frame that nobody has seen, or, when old ones will do, leaves what is there. It returns the frame's mark.
func (f *feed) stamp(host []byte, fresh bool) uint64 {
	m := f.marks
	if mark := m.at[&host[0]]; !fresh && mark != 0 {
		return mark
	}
	m.last++
	rowBytes, rows := plane(f.shape)
	kernels.StampHost(host, rowBytes, rows, m.last)
	m.at[&host[0]] = m.last
	return m.last
}

// send stamps and publishes one frame.
func (f *feed) send(ctx context.Context, fresh bool) error {
	host, err := f.begin(ctx)
	if err != nil {
		return err
	}
	mark := f.stamp(host, fresh)
	m := ipc.Frame{
		Camera: f.camera, Seq: f.seq, Width: f.shape.Width, Height: f.shape.Height, Format: string(f.shape.Format),
		MediaNS: int64(mark), CaptureNS: clock.Now(),
	}
	f.seq++
	return f.publish(&m)
}
