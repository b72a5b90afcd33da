//go:build gocv

package source

import (
	"fmt"
	"os"
	"sync"

	"gocv.io/x/gocv"
)

// HaveOpenCV says whether this build reads cameras, network streams and compressed video.
const HaveOpenCV = true

func canOpenStreams() error { return nil }

// quiet keeps FFmpeg from writing about damaged material to stderr: errors come back as values. It has to run
// before the first video is opened. OpenCV's own log level is read when the process starts; see QuietEnviron.
var quiet = sync.OnceValue(func() error {
	if _, set := os.LookupEnv("OPENCV_FFMPEG_LOGLEVEL"); set {
		return nil
	}
	return os.Setenv("OPENCV_FFMPEG_LOGLEVEL", "-8")
})

// capture is an opened cv::VideoCapture and the frame that it read last.
type capture struct {
	cap *gocv.VideoCapture
	mat gocv.Mat
}

// openCapture opens name with one backend and nothing else; nil when OpenCV says no.
func openCapture(name string, api gocv.VideoCaptureAPI) *capture {
	c, err := gocv.VideoCaptureFileWithAPI(name, api)
	if err != nil {
		_ = c.Close() // gocv returns the failed object, too; it never fails to close
		return nil
	}
	return &capture{cap: c, mat: gocv.NewMat()}
}

func (c *capture) read() bool { return c.cap.Read(&c.mat) && !c.mat.Empty() }

// raw describes the frame read last without copying it.
func (c *capture) raw() (rawFrame, error) {
	pix, err := c.mat.DataPtrUint8()
	if err != nil {
		return rawFrame{}, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return rawFrame{pix: pix, rows: c.mat.Rows(), columns: c.mat.Cols(), channels: c.mat.Channels()}, nil
}

func (c *capture) int(p gocv.VideoCaptureProperties) int { return int(c.cap.Get(p)) }

func (c *capture) close() error {
	if c.cap == nil {
		return nil
	}
	err := c.cap.Close()
	c.cap = nil
	if merr := c.mat.Close(); err == nil {
		err = merr
	}
	return err
}

// decodeJPEG writes a JPEG picture of the expected size into dst.
func decodeJPEG(dst, picture []byte) error {
	m, err := gocv.IMDecode(picture, gocv.IMReadColor)
	if err != nil {
		return fmt.Errorf("%w: JPEG picture: %w", ErrCorrupt, err)
	}
	defer func() { _ = m.Close() }() // frees memory, never fails
	if m.Empty() {
		return fmt.Errorf("%w: JPEG picture of %d bytes", ErrCorrupt, len(picture))
	}
	pix, err := m.DataPtrUint8()
	if err != nil || len(pix) != len(dst) {
		return fmt.Errorf("%w: JPEG picture of %d×%d", ErrCorrupt, m.Cols(), m.Rows())
	}
	copy(dst, pix)
	return nil
}
