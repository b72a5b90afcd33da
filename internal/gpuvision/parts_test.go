package gpuvision

import (
	"errors"
	"strings"
	"testing"

	"facetrack/infer"
	"facetrack/internal/cuda"
	"facetrack/vision"
)

// scarce leaves an intake so many bytes.
func (r *rig) scarce(k *intake, bytes int64) {
	r.Helper()
	r.must(k.close())
	k.room.from = &little{Context: r.device.Context(), most: bytes}
}

// batch is frames with a large one first, all but one from the host, and what there is to see.
func (r *rig) batch(waits *int) (frames []Frame, want [][]vision.Face) {
	r.Helper()
	scenes := r.scenes()
	scenes[0], _ = r.drawn(vision.BGR, 1280, 960, 2)
	scenes = append(scenes, scenes[2])
	want, err := r.visionDetector(vision.DetectorOptions{}).DetectBatch(scenes)
	r.must(err)
	for i, m := range scenes {
		if frames = append(frames, Frame{Image: m, Wait: func(*cuda.Stream) error { *waits++; return nil }}); i == 1 {
			frames[i] = r.onDevice(m, waits)
		}
	}
	return frames, want
}

// Frames that there is no memory for at once are seen as they are together; only one that is too large by itself fails.
func TestDetectInParts(t *testing.T) {
	r := newRig(t)
	waits := 0
	frames, want := r.batch(&waits)
	const large, all = 3 * 1280 * 960, 3*1280*960 + 2*(2*480*360) + 22528
	for _, c := range []struct {
		memory, parted int64
		first          error
	}{{all, 0, nil}, {all - 1, 2, nil}, {large, 2, nil}, {large - 1, 2, cuda.OutOfMemory}} {
		log, said := listen()
		x := r.newDetector(vision.DetectorOptions{}, Options{Precision: infer.FP32, MaxBatch: 8, Log: log})
		r.scarce(&x.intake, c.memory)
		for range 2 {
			waits = 0
			sights, err := x.Detect(frames)
			r.must(err)
			if !errors.Is(sights[0].Err, c.first) || waits != len(frames) && c.first == nil {
				t.Errorf("%+v: %v, %d waits", c, sights[0].Err, waits)
			}
			for i, s := range sights {
				if i > 0 || c.first == nil {
					r.must(s.Err)
					r.compareFaces(s.Faces, want[i], 1e-3, 0.9999)
				}
			}
		}
		if warned := strings.Count(said.String(), "level=WARN"); x.Parted() != c.parted || warned != min(1, int(c.parted)) {
			t.Errorf("%+v: %d batches in parts, said: %s", c, x.Parted(), said)
		}
	}
}

// Regions are tried again while their frames are on the device.
func TestFindInParts(t *testing.T) {
	r := newRig(t)
	views := r.views()
	views = append(views, views...)
	want := r.expected(views, vision.LandmarkerOptions{})
	log, said := listen()
	x := r.newLandmarker(vision.LandmarkerOptions{}, Options{Precision: infer.FP32, MaxBatch: 4, Log: log})
	r.scarce(&x.intake, 2<<20)
	var looks []Look
	for _, v := range views {
		looks = append(looks, Look{Frame{Image: v.image}, v.rois})
	}
	for range 2 {
		found, err := x.Find(looks)
		r.must(err)
		r.compareAll(found, want, bounds[infer.FP32])
	}
	if warned := strings.Count(said.String(), "level=WARN"); x.Parted() != 2 || warned != 1 {
		t.Errorf("%d batches in parts, said: %s", x.Parted(), said)
	}
}
