//go:build !gocv

package source

import "testing"

func TestWithoutOpenCVTheBuildIsNamed(t *testing.T) {
	if HaveOpenCV {
		t.Error("this build claims to have OpenCV")
	}
	openError(t, writeFile(t, "clip.mkv", []byte("x")), ErrUnsupported, "no OpenCV", "make build", "clip.mkv")
	openError(t, "rtsp://me:secret@127.0.0.1/live", ErrUnsupported, "no OpenCV", "make build")
	_, err := openCamera(t.Context(), "/dev/video0", Options{})
	wantError(t, err, ErrUnsupported, "make build", "/dev/video0")
	_, err = openStream(t.Context(), "rtsp://a", "rtsp://a", Options{})
	wantError(t, err, ErrUnsupported, "make build")
}
