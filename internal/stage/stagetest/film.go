package stagetest

import (
	"facetrack/gpuring"
	"facetrack/internal/clock"
	"facetrack/internal/cuda"
	"facetrack/internal/source"
	"facetrack/ipc"
)

// Ring is what capture keeps for a camera: a ring, and the server that consumers attach to.
type Ring struct {
	Writer gpuring.Writer
	Server *ipc.Server
	bus    *Bus
}

// NewRing makes a ring with its files in dir.
func NewRing(b *Bus, dir string, g gpuring.Geometry) *Ring {
	b.T.Helper()
	return newRing(b, gpuring.Options{Dir: dir, Geometry: g})
}

func newRing(b *Bus, o gpuring.Options) *Ring {
	b.T.Helper()
	o.Rig, o.Camera = Rig, Camera
	w, err := gpuring.Create(o)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = w.Close() })
	s, err := ipc.NewServer(b.Connect().Conn, Rig, Camera, w, Quiet, ipc.ServerOptions{MaxSilence: Deadline})
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = s.Close() })
	return &Ring{Writer: w, Server: s, bus: b}
}

// Write puts the next frame into the ring, with the pixels that draw leaves; it is not announced.
func (r *Ring) Write(draw func(seq uint64, pix []byte) error) ipc.Frame {
	r.bus.T.Helper()
	r.bus.Eventually("a slot is free", r.Writer.Ready) // at once, unless a GPU is taking the last frames up
	claim, err := r.Writer.Begin()
	if err != nil {
		r.bus.T.Fatal(err)
	}
	seq := r.Writer.NextSeq()
	if err := draw(seq, claim.View().Host); err != nil {
		r.bus.T.Fatal(err)
	}
	ticket, err := claim.Publish(seq)
	if err != nil {
		r.bus.T.Fatal(err)
	}
	g := r.Writer.Geometry()
	return ipc.Frame{
		Camera: Camera, Seq: ticket.Seq, CaptureNS: clock.Now(), WallNS: clock.Wall(), Ring: ticket.RingID, Slot: ticket.Slot,
		Generation: ticket.Generation, Width: g.Width, Height: g.Height, Format: string(g.Format),
	}
}

// Film is a recorded camera that draws faces; Params tell where they are.
type Film struct {
	*Ring
	Params source.SyntheticParams
	src    source.Source
}

// NewFilm makes a ring of so many slots for the pictures of a synthetic source.
func NewFilm(b *Bus, dir, spec string, slots int) *Film {
	b.T.Helper()
	return NewGPUFilm(b, dir, spec, slots, nil)
}

// NewGPUFilm has the ring on a GPU, too.
func NewGPUFilm(b *Bus, dir, spec string, slots int, gpu *cuda.Context) *Film {
	b.T.Helper()
	p, err := source.ParseSynthetic(spec)
	if err != nil {
		b.T.Fatal(err)
	}
	g := gpuring.Geometry{Width: p.Width, Height: p.Height, Format: gpuring.Format(p.Format), Slots: slots}
	return &Film{Ring: newRing(b, gpuring.Options{Dir: dir, Geometry: g, GPU: gpu}), Params: p, src: source.NewSynthetic(p)}
}

// Frame draws the next picture into the ring and asks for an acknowledgement; it is not announced.
func (f *Film) Frame() ipc.Frame {
	f.bus.T.Helper()
	at, err := f.src.Grab(f.bus.T.Context())
	if err != nil {
		f.bus.T.Fatal(err)
	}
	frame := f.Write(func(_ uint64, pix []byte) error { return f.src.Retrieve(pix) })
	frame.CaptureNS, frame.MediaNS, frame.Ack = at, 33, true
	frame.Stamps.Capture = clock.Now()
	return frame
}
