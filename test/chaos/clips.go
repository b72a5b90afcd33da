package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"

	"facetrack/internal/source"
	"facetrack/internal/testmodels"
	"facetrack/ipc"
)

// Clips are drawn faces whose place is known for every frame. At the end of a loop the face jumps to where it was at the beginning.
const (
	clipWidth, clipHeight = 320, 240
	clipRate              = 10
	clipLength            = 150
)

func clipParams(camera int) (source.SyntheticParams, error) {
	return source.ParseSynthetic(fmt.Sprintf("synthetic:faces=1,size=%dx%d,fps=%d,format=NV12,seed=%d", clipWidth, clipHeight, clipRate, camera+1))
}

// drawnFrame is which drawing the frame at a place shows.
func drawnFrame(place int64) int64 { return place % clipLength }

// writeClip writes the loop of a camera as Y4M and returns its file.
func writeClip(dir string, camera int) (path string, err error) {
	p, err := clipParams(camera)
	if err != nil {
		return "", err
	}
	src := source.NewSynthetic(p)
	path = filepath.Join(dir, fmt.Sprintf("cam%d.y4m", camera))
	f, err := os.Create(path) //nolint:gosec // in a folder of this run
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintf(w, "YUV4MPEG2 W%d H%d F%d:1 C420jpeg\n", clipWidth, clipHeight, clipRate)
	frame := make([]byte, src.Info().FrameBytes())
	for range clipLength {
		if _, err = src.Grab(context.Background()); err == nil {
			err = src.Retrieve(frame)
		}
		if err != nil {
			return "", errors.Join(err, f.Close())
		}
		writeY4MFrame(w, frame)
	}
	return path, errors.Join(w.Flush(), f.Close())
}

// writeY4MFrame writes an NV12 frame, whose chroma is interleaved, as Y4M has it: plane by plane.
func writeY4MFrame(w *bufio.Writer, frame []byte) {
	const luma = clipWidth * clipHeight
	_, _ = w.WriteString("FRAME\n") // errors stay until Flush
	_, _ = w.Write(frame[:luma])
	for plane := range 2 {
		for i := luma + plane; i < len(frame); i += 2 {
			_ = w.WriteByte(frame[i])
		}
	}
}

// jpegFrames are the pictures of the network camera, one loop.
func jpegFrames(camera int) ([][]byte, error) {
	p, err := clipParams(camera)
	if err != nil {
		return nil, err
	}
	p.Format = source.BGR
	src := source.NewSynthetic(p)
	var all [][]byte
	bgr, img := make([]byte, src.Info().FrameBytes()), image.NewRGBA(image.Rect(0, 0, clipWidth, clipHeight))
	for range clipLength {
		_, err := src.Grab(context.Background())
		if err = errors.Join(err, src.Retrieve(bgr)); err != nil {
			return nil, err
		}
		for i := range clipWidth * clipHeight {
			copy(img.Pix[4*i:], []byte{bgr[3*i+2], bgr[3*i+1], bgr[3*i], 255})
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 90}); err != nil {
			return nil, err
		}
		all = append(all, b.Bytes())
	}
	return all, nil
}

// truth knows where the face of a camera's clip is.
type truth []source.FaceTruth // by drawing

func newTruth(camera int) (truth, error) {
	p, err := clipParams(camera)
	if err != nil {
		return nil, err
	}
	t := make(truth, clipLength)
	for i := range t {
		t[i] = source.SyntheticTruth(p, int64(i))[0]
	}
	return t, nil
}

// What lies how many frames from a frame, as far as a result can be of it.
const (
	ahead  = 2  // a slot is written again after as many frames as the ring is deep; half of the face may be of the old frame
	most   = 12 // more than a ring's slots
	behind = 40 // a face that has moved out of the region where it was seen last is found too near to there
)

// off is how far a tracked face is from the one that was drawn in the frame at a place, px, and whether it lies where later frames have it
// rather than this one or those before: then pixels were written while they were read. Where the clip begins anew that cannot be told.
func (t truth) off(place int64, points ipc.Points) (px float64, later bool) {
	at := drawnFrame(place)
	px = irises(points, t[at])
	near := func(from, to int64) float64 {
		best := math.Inf(1)
		for i := max(from, 0); i <= min(to, clipLength-1); i++ {
			best = min(best, irises(points, t[i]))
		}
		return best
	}
	return px, at >= behind && near(at+ahead, at+most) < min(near(at-behind, at+1), tornPx)
}

func irises(points ipc.Points, want source.FaceTruth) float64 {
	r, l := points[testmodels.RightIris], points[testmodels.LeftIris]
	return max(math.Hypot(float64(r[0])-want.RightEye[0], float64(r[1])-want.RightEye[1]),
		math.Hypot(float64(l[0])-want.LeftEye[0], float64(l[1])-want.LeftEye[1]))
}
