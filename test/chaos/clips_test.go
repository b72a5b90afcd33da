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

// A result of a frame that was written over by a later one lies where that one has the face.
func TestTruthTellsFramesApart(t *testing.T) {
	tr, err := newTruth(0)
	if err != nil {
		t.Fatal(err)
	}
	apart := 0
	for at := range int64(clipLength) {
		if off, fits, _ := tr.off(at, pointsOf(tr[drawnFrame(at)])); off > 0.01 || fits != drawnFrame(at) {
			t.Errorf("place %d: its own face is %v px away and fits drawing %d", at, off, fits)
		}
		if off, _, _ := tr.off(at, pointsOf(tr[drawnFrame(at+4)])); off > tornPx {
			apart++
		}
	}
	if apart < clipLength*8/10 {
		t.Errorf("a face of four frames later would be told at %d of %d places", apart, clipLength)
	}
	if p := place(int64(13 * time.Second / clipRate)); p != 12 {
		t.Errorf("the thirteenth frame is at place %d", p)
	}
}
