package main

import (
	"testing"
	"time"

	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// The clip shows at each place the drawing that it is judged by.
func TestClipShowsWhatItIsJudgedBy(t *testing.T) {
	path, err := writeClip(t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	info := src.Info()
	if info.Frames != clipLength || info.FPS != clipRate {
		t.Fatalf("%d frames at %v frames/s", info.Frames, info.FPS)
	}
	pixels := make([]byte, info.FrameBytes())
	for i := range int64(clipLength) {
		if _, err := src.Grab(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := src.Retrieve(pixels); err != nil {
			t.Fatal(err)
		}
		index, err := source.SyntheticIndex(pixels, info.Format, info.Width)
		if err != nil || int64(index) != drawnFrame(i) || drawnFrame(i+5*clipLength) != drawnFrame(i) {
			t.Fatalf("frame %d shows drawing %d, %v; expected is %d", i, index, err, drawnFrame(i))
		}
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

func pointsOf(f source.FaceTruth) ipc.Points {
	p := make(ipc.Points, 478)
	p[testmodels.RightIris] = [3]float32{float32(f.RightEye[0]), float32(f.RightEye[1]), 0}
	p[testmodels.LeftIris] = [3]float32{float32(f.LeftEye[0]), float32(f.LeftEye[1]), 0}
	return p
}

// A result of a frame that was written over by a later one lies where that one has the face; one of the frame itself, or that is drawn to
// where the face was, does not.
func TestTruthTellsFramesApart(t *testing.T) {
	told, asked := 0, 0
	for camera := range fileCameras {
		tr, err := newTruth(camera)
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at+8 < clipLength; at++ {
			if off, later := tr.off(at, pointsOf(tr[at])); off > 0.01 || later {
				t.Errorf("place %d: its own face is %v px away, later: %v", at, off, later)
			}
			if at < behind {
				continue
			}
			if _, later := tr.off(at+3*clipLength, pointsOf(tr[at-6])); later {
				t.Errorf("place %d: a face of six frames before is taken for one of later frames", at)
			}
			for _, d := range []int64{4, 6, 8} {
				asked++
				if off, later := tr.off(at, pointsOf(tr[at+d])); later && off > tornPx {
					told++
				}
			}
		}
	}
	if told < asked*95/100 {
		t.Errorf("faces of later frames are told at %d of %d places", told, asked)
	}
	if p := place(int64(13 * time.Second / clipRate)); p != 12 {
		t.Errorf("the thirteenth frame is at place %d", p)
	}
}
