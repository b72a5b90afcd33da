package gpuvision

import (
	"fmt"
	"log/slog"

	"facetrack/internal/cuda"
	"facetrack/internal/kernels/image"
	"facetrack/vision"
)

// Frame is a camera's picture.
type Frame struct {
	Image  vision.Image             // without Pix when the pixels are on the device
	Device uint64                   // address of the pixels, a multiple of 4, in the Device's context; 0: Image.Pix is uploaded
	Wait   func(*cuda.Stream) error // makes a stream wait for the pixels; called once, before work that reads them; may be nil
}

func (f *Frame) validate() error {
	if f.Device == 0 {
		return f.Image.Validate()
	}
	if f.Device%4 != 0 {
		return fmt.Errorf("%w: pixels at the address %#x, which must be a multiple of 4", vision.ErrImage, f.Device)
	}
	_, err := vision.FrameBytes(f.Image.Format, f.Image.Width, f.Image.Height)
	return err
}

// bytes is what a valid frame needs to be uploaded.
func (f *Frame) bytes() int {
	if f.Device != 0 {
		return 0
	}
	n, _ := vision.FrameBytes(f.Image.Format, f.Image.Width, f.Image.Height)
	return n
}

func (f *Frame) at(address uint64) image.Frame {
	return image.Frame{Address: address, Format: f.Image.Format, Width: f.Image.Width, Height: f.Image.Height}
}

// Options tune a Detector or a Landmarker.
type Options struct {
	Precision string // infer.FP16 or infer.FP32; "" and "auto" are FP32 for a Detector, FP16 for a Landmarker
	MaxBatch  int    // frames or regions in one run of the networks; 0 is 64. Without the memory for that it is less
	Log       *slog.Logger
}

const mostInBatch = 64

func (o Options) defaults() Options {
	if o.MaxBatch < 1 {
		o.MaxBatch = mostInBatch
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// black is a frame for trial runs.
var black = Frame{Image: vision.Image{Format: vision.BGR, Width: 64, Height: 64, Pix: make([]byte, 3*64*64)}}
