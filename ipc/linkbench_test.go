package ipc_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"facetrack/gpuring"
	"facetrack/ipc"
)

// BenchmarkLink leases a 1080p NV12 frame (3.1 MB): mapped, and copied over a NATS server on this machine.
func BenchmarkLink(b *testing.B) {
	for _, transport := range []ipc.Transport{ipc.SHM, ipc.Copy} {
		b.Run(string(transport), func(b *testing.B) {
			s := startNATS(b, server.Options{})
			nc := connect(b, s.ClientURL())
			g := gpuring.Geometry{Width: 1920, Height: 1080, Format: gpuring.NV12, Slots: 3}
			w, err := gpuring.Create(gpuring.Options{Dir: b.TempDir(), Rig: "lab", Camera: "cam", Geometry: g, Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			srv, err := ipc.NewServer(nc.Conn, "lab", "cam", w, quiet, ipc.ServerOptions{MaxSilence: patience})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = srv.Close() }()
			claim, err := w.Begin()
			if err != nil {
				b.Fatal(err)
			}
			t, err := claim.Publish(w.NextSeq())
			if err != nil {
				b.Fatal(err)
			}
			f := ipc.Frame{Camera: "cam", Seq: t.Seq, Ring: t.RingID, Slot: t.Slot, Generation: t.Generation, Width: 1920, Height: 1080, Format: "NV12"}
			l := newLink(b, connect(b, s.ClientURL()), ipc.LinkOptions{Allow: []ipc.Transport{transport}})
			b.SetBytes(int64(g.FrameBytes()))
			b.ReportAllocs()
			for b.Loop() {
				got, err := l.Lease(b.Context(), f)
				if err != nil {
					b.Fatal(err)
				}
				if err := got.Release(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
