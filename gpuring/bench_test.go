package gpuring_test

import (
	"testing"

	"facetrack/gpuring"
	"facetrack/gpuring/ringtest"
)

var (
	vga    = gpuring.Geometry{Width: 640, Height: 480, Format: gpuring.BGR, Slots: 8}
	fullHD = gpuring.Geometry{Width: 1920, Height: 1080, Format: gpuring.BGR, Slots: 8}
)

func benchRing(b *testing.B, g gpuring.Geometry) gpuring.Writer {
	b.Helper()
	w, err := gpuring.Create(gpuring.Options{Dir: ringtest.Dir(b), Rig: "lab", Camera: "cam0", Geometry: g})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() })
	return w
}

// publishOf publishes one frame: a copy of pixels, or nothing when there are none.
func publishOf(b *testing.B, w gpuring.Writer, pixels []byte) gpuring.Ticket {
	claim, err := w.Begin()
	if err != nil {
		b.Fatal(err)
	}
	copy(claim.View().Host, pixels)
	ticket, err := claim.Publish(w.NextSeq())
	if err != nil {
		b.Fatal(err)
	}
	return ticket
}

// BenchmarkLease is Lease and Release of one frame.
func BenchmarkLease(b *testing.B) {
	w := benchRing(b, vga)
	r, err := w.AttachLocal("bench")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ticket := publishOf(b, w, nil)
	for b.Loop() {
		lease, err := r.Lease(ticket)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPublish is Begin, NextSeq and Publish, with and without the copy of the pixels.
func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct {
		name string
		g    gpuring.Geometry
		copy bool
	}{{"empty", vga, false}, {"640x480", vga, true}, {"1920x1080", fullHD, true}} {
		b.Run(c.name, func(b *testing.B) {
			w := benchRing(b, c.g)
			var pixels []byte
			if c.copy {
				pixels = make([]byte, c.g.FrameBytes())
				b.SetBytes(int64(len(pixels)))
			}
			for b.Loop() {
				publishOf(b, w, pixels)
			}
		})
	}
}

// BenchmarkCopy is the copy alone, between private memory: what of BenchmarkPublish is memory's share.
func BenchmarkCopy(b *testing.B) {
	for name, g := range map[string]gpuring.Geometry{"640x480": vga, "1920x1080": fullHD} {
		b.Run(name, func(b *testing.B) {
			from := make([]byte, g.FrameBytes())
			to := make([][]byte, g.Slots)
			for i := range to {
				to[i] = make([]byte, len(from))
			}
			b.SetBytes(int64(len(from)))
			for n := 0; b.Loop(); n++ {
				copy(to[n%len(to)], from)
			}
		})
	}
}

// BenchmarkFull is Begin on a full ring: what a dropped frame costs.
func BenchmarkFull(b *testing.B) {
	w := benchRing(b, vga)
	for range vga.Slots {
		if _, err := w.Begin(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := w.Begin(); err == nil {
			b.Fatal("a slot in a full ring")
		}
	}
}
