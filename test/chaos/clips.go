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

// Clips are drawn faces whose place is known for every frame. They run forth and back, so that a loop has no seam.
const (
	clipWidth, clipHeight = 320, 240
	clipRate              = 10
	clipTurn              = 60             // frames one way
	clipLength            = 2*clipTurn - 2 // frames of a loop
)

func clipParams(camera int) (source.SyntheticParams, error) {
	return source.ParseSynthetic(fmt.Sprintf("synthetic:faces=1,size=%dx%d,fps=%d,format=NV12,seed=%d", clipWidth, clipHeight, clipRate, camera+1))
}

// drawnFrame is which drawing the frame at a place of the loop shows.
func drawnFrame(place int64) int64 {
	i := place % clipLength
	if i >= clipTurn {
		return clipLength - i
	}
	return i
}

// writeClip writes the loop of a camera as Y4M and returns its file.
func writeClip(dir string, camera int) (path string, err error) {
	p, err := clipParams(camera)
	if err != nil {
		return "", err
	}
	src := source.NewSynthetic(p)
	drawings := make([][]byte, clipTurn)
	for i := range drawings {
		drawings[i] = make([]byte, src.Info().FrameBytes())
		_, err := src.Grab(context.Background())
		if err = errors.Join(err, src.Retrieve(drawings[i])); err != nil {
			return "", err
		}
	}
	path = filepath.Join(dir, fmt.Sprintf("cam%d.y4m", camera))
	f, err := os.Create(path) //nolint:gosec // in a folder of this run
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintf(w, "YUV4MPEG2 W%d H%d F%d:1 C420jpeg\n", clipWidth, clipHeight, clipRate)
	for place := range int64(clipLength) {
		writeY4MFrame(w, drawings[drawnFrame(place)])
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
	for range clipTurn {
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
	for i := clipTurn - 2; i > 0; i-- {
		all = append(all, all[i])
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
	t := make(truth, clipTurn)
	for i := range t {
		t[i] = source.SyntheticTruth(p, int64(i))[0]
	}
	return t, nil
}

// off is how far a tracked face is from the one that was drawn in the frame at a place of the loop, px, and which drawing near that
// one it fits best.
func (t truth) off(place int64, points ipc.Points) (px float64, fits int64, fitsPx float64) {
	at := drawnFrame(place)
	fits, fitsPx = at, math.Inf(1)
	for d := int64(-maxSlots); d <= maxSlots; d++ {
		i := drawnFrame((place + d + clipLength) % clipLength)
		if e := irises(points, t[i]); e < fitsPx {
			fits, fitsPx = i, e
		}
	}
	return irises(points, t[at]), fits, fitsPx
}

// maxSlots is more than the frames that a ring holds.
const maxSlots = 12

func irises(points ipc.Points, want source.FaceTruth) float64 {
	r, l := points[testmodels.RightIris], points[testmodels.LeftIris]
	return max(math.Hypot(float64(r[0])-want.RightEye[0], float64(r[1])-want.RightEye[1]),
		math.Hypot(float64(l[0])-want.LeftEye[0], float64(l[1])-want.LeftEye[1]))
}
