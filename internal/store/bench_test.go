package store

import (
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/stage/stagetest"
	"facetrack/ipc"
)

// What it costs the server that a message is kept: a face's landmarks, 9 KB, with one subscriber, beside the same without a stream. The
// CPU time is that of the whole process, publisher and server.
func BenchmarkKeep(b *testing.B) {
	for _, keeps := range []bool{false, true} {
		b.Run(map[bool]string{false: "passed on", true: "kept"}[keeps], func(b *testing.B) {
			l := newLab(b)
			l.cfg.Store.MaxGB = 0.2
			heard := make(chan *nats.Msg, 1<<16)
			if _, err := l.Connect().ChanSubscribe(ipc.AllCameras(stagetest.Rig, ipc.KindLandmarks), heard); err != nil {
				b.Fatal(err)
			}
			var k *Keeper
			if keeps {
				k = l.begin(noon)
			}
			m := ipc.Landmarks{Frame: frame("a", 0), Topology: "t", Faces: []ipc.FaceLandmarks{{Points: make(ipc.Points, 478), Blendshapes: make([]float64, 52)}}}
			for i := range m.Faces[0].Points {
				m.Faces[0].Points[i] = [3]float32{300.25 + float32(i), 200.5, -12.75}
			}
			data, err := m.AppendJSON(nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			begin := cpu(b)
			for b.Loop() {
				if err := l.NC.Publish("face.lab.a.landmarks", data); err != nil {
					b.Fatal(err)
				}
				<-heard
			}
			if keeps {
				l.Eventually("all is stored", func() bool {
					n, err := k.Check(b.Context())
					return err == nil && n == uint64(b.N) //nolint:gosec // not negative
				})
			}
			b.ReportMetric(float64((cpu(b)-begin).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
