package ringtest

import (
	"errors"
	"testing"

	"facetrack/gpuring"
)

// rig is one ring under test.
type rig struct {
	t *testing.T
	f Factory
	o gpuring.Options
	w gpuring.Writer
}

func newRig(t *testing.T, f Factory, slots int) *rig {
	t.Helper()
	return newRigOf(t, f, gpuring.Geometry{Width: 30, Height: 7, Format: gpuring.BGR, Slots: slots})
}

func newRigOf(t *testing.T, f Factory, g gpuring.Geometry) *rig {
	t.Helper()
	r := &rig{t: t, f: f, o: gpuring.Options{Dir: Dir(t), Rig: "lab", Camera: "cam0", Geometry: g}}
	r.create()
	return r
}

// create makes the ring (again).
func (r *rig) create() {
	r.t.Helper()
	w, err := r.f.Create(r.o)
	if err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	r.w = w
	r.t.Cleanup(func() {
		if err := w.Close(); err != nil {
			r.t.Errorf("Writer.Close: %v", err)
		}
	})
}

func (r *rig) reader(name string) gpuring.Reader {
	r.t.Helper()
	reader, err := r.f.Open(r.w.Descriptor(), name)
	if err != nil {
		r.t.Fatalf("Open: %v", err)
	}
	r.t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			r.t.Errorf("Reader.Close: %v", err)
		}
	})
	return reader
}

func (r *rig) begin() gpuring.Claim {
	r.t.Helper()
	c, err := r.w.Begin()
	if err != nil {
		r.t.Fatalf("Begin: %v", err)
	}
	return c
}

// publish writes the next frame with its pattern.
func (r *rig) publish() gpuring.Ticket {
	r.t.Helper()
	c, seq := r.begin(), r.w.NextSeq()
	frame := make([]byte, r.o.Geometry.FrameBytes())
	Fill(frame, seq)
	if err := r.f.Put(c.View(), frame); err != nil {
		r.t.Fatalf("Put: %v", err)
	}
	t, err := c.Publish(seq)
	if err != nil {
		r.t.Fatalf("Publish: %v", err)
	}
	return t
}

func (r *rig) lease(reader gpuring.Reader, t gpuring.Ticket) gpuring.Lease {
	r.t.Helper()
	l, err := reader.Lease(t)
	if err != nil {
		r.t.Fatalf("Lease of %+v: %v", t, err)
	}
	return l
}

// whole fails unless the lease shows all of frame seq.
func (r *rig) whole(l gpuring.Lease, seq uint64) {
	r.t.Helper()
	frame := make([]byte, r.o.Geometry.FrameBytes())
	if err := r.f.Get(l.View(), frame); err != nil {
		r.t.Fatalf("Get: %v", err)
	}
	if !Whole(frame, seq) {
		r.t.Errorf("the pixels are not those of frame %d", seq)
	}
}

// refused fails unless the reader refuses the ticket with the error.
func (r *rig) refused(reader gpuring.Reader, t gpuring.Ticket, want error) {
	r.t.Helper()
	l, err := reader.Lease(t)
	r.is(err, want)
	if err == nil {
		r.is(l.Release(), nil)
	}
}

func (r *rig) is(err, want error) {
	r.t.Helper()
	if !errors.Is(err, want) {
		r.t.Errorf("error %v, want %v", err, want)
	}
}

// slots fails unless so many slots are held and free.
func (r *rig) slots(held, free int) {
	r.t.Helper()
	if s := r.w.Stats(); s.Held != held || s.Free != free || s.Writing != s.Slots-held-free {
		r.t.Errorf("held %d, writing %d, free %d; want held %d, free %d", s.Held, s.Writing, s.Free, held, free)
	}
}
