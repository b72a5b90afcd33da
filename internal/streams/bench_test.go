package streams

import (
	"log/slog"
	"testing"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/lsl"
)

type nowhere struct{}

func (nowhere) Open(lsl.StreamInfo) (Stream, error) { return nowhere{}, nil }
func (nowhere) Push(float64, []float32) error       { return nil }
func (nowhere) PushString(float64, ...string) error { return nil }
func (nowhere) Close() error                        { return nil }

// BenchmarkFrame is what a frame with one face costs from its message to the rows of its streams, without what sends them.
func BenchmarkFrame(b *testing.B) {
	cfg := config.Default()
	s, err := New(cfg, nowhere{}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	one := face(1, "")
	one.Gaze = &ipc.Gaze{Left: &ipc.Eye{Direction: [3]float64{0.6, 0.123, -0.8}}, Right: &ipc.Eye{Direction: [3]float64{0.6, 0.123, -0.8}}}
	for i := range one.Points {
		one.Points[i] = [3]float32{123.45, 234.56, -12.34}
	}
	m := frame("a", 1, one)
	m.Ring, m.Format, m.Topology = "lab/a/1", "BGR", "mediapipe-478"
	data, err := m.AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := s.Read(data)
		if err == nil {
			err = s.Tracks(&t)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
