//go:build cuda && gpu

package gpuvision

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"facetrack/infer"
	"facetrack/internal/testutil"
	"facetrack/vision"
)

const (
	benchWidth, benchHeight = 1920, 1080
	benchFrames             = 8
)

// deviceFrames are 1080p NV12 frames of noise that have long arrived.
func (r *rig) deviceFrames() (frames []Frame) {
	r.Helper()
	pix := make([]byte, benchWidth*benchHeight*3/2)
	for i := range pix {
		pix[i] = byte(rand.Uint32())
	}
	memory, err := r.device.Context().Alloc(int64(benchFrames * len(pix)))
	r.must(err)
	r.Cleanup(func() { r.must(memory.Close()) })
	for i := range benchFrames {
		at := memory.Address() + uint64(i*len(pix))
		r.must(r.stream.Upload(at, pix))
		frames = append(frames, Frame{Image: vision.Image{Format: vision.NV12, Width: benchWidth, Height: benchHeight}, Device: at})
	}
	r.must(r.stream.Synchronize())
	return frames
}

// measure reports the median and the 99th percentile of run, which handles n items.
func measure(b *testing.B, n int, run func() error) {
	times := make([]time.Duration, 0, b.N)
	for i := range b.N + 20 {
		begin := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		if i >= 20 { // warm by now
			times = append(times, time.Since(begin))
		}
	}
	slices.Sort(times)
	micros := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Nanoseconds()) / 1e3 }
	b.ReportMetric(micros(0.5), "p50-µs")
	b.ReportMetric(micros(0.99), "p99-µs")
	b.ReportMetric(float64(n)/micros(0.5)*1e6, "items/s")
}

var benchPrecisions = []string{infer.FP16, infer.FP32}

// BenchmarkFind is the time from regions of frames on the device to results on the host.
func BenchmarkFind(b *testing.B) {
	assets := testutil.Assets(b)
	r := newRig(b)
	graphs, err := r.public(assets).LandmarkGraphs("face-landmarker", false)
	r.must(err)
	frames := r.deviceFrames()
	for _, precision := range benchPrecisions {
		x, err := NewLandmarker(r.device, graphs.Points, graphs.Blendshapes, vision.LandmarkerOptions{Retries: -1}, Options{Precision: precision})
		r.must(err)
		for _, n := range []int{1, 8, 64} {
			var looks []Look
			for i := range n {
				looks = append(looks, Look{frames[i%benchFrames], []vision.ROI{{CX: float64(300 + 20*i), CY: 540, Size: 400, Rotation: 0.2}}})
			}
			r.must(x.Capture(n))
			b.Run(fmt.Sprintf("%s/%d", precision, n), func(b *testing.B) {
				measure(b, n, func() error { return second(x.Find(looks)) })
			})
		}
		r.must(x.Close())
	}
}

// BenchmarkDetect is the time from frames on the device to faces on the host.
func BenchmarkDetect(b *testing.B) {
	assets := testutil.Assets(b)
	r := newRig(b)
	store, frames := r.public(assets), r.deviceFrames()
	for _, name := range []string{"yunet-320", "yunet-640", "blazeface"} {
		kind, graph, err := store.DetectorGraph(name, false)
		r.must(err)
		for _, precision := range benchPrecisions {
			x, err := NewDetector(r.device, kind, graph, vision.DetectorOptions{}, Options{Precision: precision})
			r.must(err)
			for _, n := range []int{1, 8, 64} {
				var batch []Frame
				for i := range n {
					batch = append(batch, frames[i%benchFrames])
				}
				r.must(x.Capture(n))
				b.Run(fmt.Sprintf("%s/%s/%d", name, precision, n), func(b *testing.B) {
					measure(b, n, func() error { return second(x.Detect(batch)) })
				})
			}
			r.must(x.Close())
		}
	}
}
