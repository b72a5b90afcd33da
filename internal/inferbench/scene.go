package inferbench

import (
	"errors"
	"math/rand/v2"

	"facetrack/internal/cuda"
	"facetrack/internal/gpuvision"
	"facetrack/vision"
)

const sceneWidth, sceneHeight = 1920, 1080

// scene is frames of noise in device memory, as cameras' rings have them, and in each a region of a face near a camera.
type scene struct {
	memory *cuda.Memory
	frames []gpuvision.Frame
	looks  []gpuvision.Look
}

func newScene(c *cuda.Context, n int) (s *scene, err error) {
	bytes, err := vision.FrameBytes(vision.NV12, sceneWidth, sceneHeight)
	if err != nil {
		return nil, err
	}
	s = &scene{}
	if s.memory, err = c.Alloc(int64(n * bytes)); err != nil {
		return nil, err
	}
	source := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- noise
	pix := make([]byte, bytes)
	for i := range pix {
		pix[i] = byte(source.Uint32())
	}
	stream, err := c.NewStream()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	for i := range n {
		f := gpuvision.Frame{Image: vision.Image{Format: vision.NV12, Width: sceneWidth, Height: sceneHeight}, Device: s.memory.Address() + uint64(i*bytes)}
		err = errors.Join(err, stream.Upload(f.Device, pix))
		roi := vision.ROI{
			CX: sceneWidth * (0.3 + 0.4*source.Float64()), CY: sceneHeight * (0.3 + 0.4*source.Float64()),
			Size: 300 + 200*source.Float64(), Rotation: source.Float64() - 0.5,
		}
		s.frames, s.looks = append(s.frames, f), append(s.looks, gpuvision.Look{Frame: f, ROIs: []vision.ROI{roi}})
	}
	if err = errors.Join(err, stream.Synchronize(), stream.Close()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *scene) close() error { return s.memory.Close() }
