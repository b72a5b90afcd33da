//go:build !gocv

package source

import (
	"bytes"
	"testing"
)

func TestWithoutOpenCVTheBuildIsNamed(t *testing.T) {
	if HaveOpenCV {
		t.Error("this build claims to have OpenCV")
	}
	openError(t, writeFile(t, "clip.mkv", []byte("x")), ErrUnsupported, "no OpenCV", "make build", "clip.mkv", "ffmpeg -i")
	openError(t, writeFile(t, "other.avi", bytes.ReplaceAll(greyAVI(t, 10), []byte("MJPG"), []byte("H264"))), ErrUnsupported, "no OpenCV", "other.avi", "-c:v mjpeg", `its video is "H264"`)
	openError(t, "rtsp://me:secret@127.0.0.1/live", ErrUnsupported, "no OpenCV", "make build")
	_, err := openCamera(t.Context(), "/dev/video0", Options{})
	wantError(t, err, ErrUnsupported, "make build", "/dev/video0")
	_, err = openStream(t.Context(), "rtsp://a", "rtsp://a", Options{})
	wantError(t, err, ErrUnsupported, "make build")
}
