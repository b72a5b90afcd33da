package source

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	openError(t, "", ErrSpec, "empty", "/dev/videoN")
	openError(t, filepath.Join(dir, "none.mkv"), ErrNotFound, "none.mkv", "working folder")
	openError(t, dir, ErrNotFound, dir, ".png")
	openError(t, filepath.Join(dir, "*.png"), ErrNotFound, "*.png")
	openError(t, filepath.Join(dir, "[.png"), ErrSpec, "[.png")
	openError(t, writeFile(t, "empty.mkv", nil), ErrCorrupt, "empty.mkv is an empty file")
	openError(t, writeFile(t, "bad.png", []byte("no picture")), ErrCorrupt, "bad.png")
	openError(t, "/dev/null", ErrUnsupported, "/dev/null")
	openError(t, "/dev/video4711", ErrNotFound, "/dev/video4711")
	openError(t, "/dev/v4l/by-id/none", ErrNotFound, "/dev/v4l/by-id/none")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, "synthetic:", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("under a cancelled context: %v", err)
	}
}

func TestFilesThatMayNotBeRead(t *testing.T) {
	wantError(t, pathError("a.gif", &fs.PathError{Op: "open", Path: "a.gif", Err: syscall.EACCES}), ErrPermission, "a.gif", "mode")
	wantError(t, pathError("a.gif", syscall.EIO), syscall.EIO, "a.gif")
	if os.Geteuid() == 0 {
		return // root reads everything
	}
	path := writeFile(t, "secret.gif", []byte("x"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	openError(t, path, ErrPermission, "secret.gif")
}

func TestDeviceErrors(t *testing.T) {
	const dev = "/dev/video0"
	wantError(t, deviceError(dev, syscall.ENOENT, nil), ErrNotFound, dev, "plugged in")
	wantError(t, deviceError(dev, syscall.ENODEV, []string{"/dev/video2", "/dev/video10"}), ErrNotFound, "there are /dev/video2, /dev/video10")
	wantError(t, deviceError(dev, syscall.EACCES, nil), ErrPermission, dev, "group video")
	wantError(t, deviceError(dev, syscall.EBUSY, nil), ErrLost, "in use")
	wantError(t, deviceError(dev, syscall.EIO, nil), ErrLost, "input/output error")
	wantError(t, checkDevice(writeFile(t, "video0", []byte("x"))), ErrUnsupported, "not a camera")
	if err := checkDevice("/dev/null"); err != nil {
		t.Errorf("a device that can be opened: %v", err)
	}
}

func TestURLErrors(t *testing.T) {
	for spec, c := range map[string]struct {
		sentinel error
		part     string
	}{
		"ftp://host/x":               {ErrUnsupported, "rtsp"},
		"rtsp:///stream":             {ErrSpec, "no host"},
		"rtsp://me:se%cret@host/x":   {ErrSpec, "%XX"},
		"rtsp://me:secret@:554/live": {ErrSpec, "no host"},
	} {
		_, err := parseURL(spec)
		wantError(t, err, c.sentinel, c.part)
		wantNoSecret(t, err)
	}
}

func wantNoSecret(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{"secret", "se%cret"} {
		if containsText(err, secret) {
			t.Errorf("error %q shows the password", err)
		}
	}
}

// closedPort returns an address of this machine on which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestDeadServerIsLostAtOnce(t *testing.T) {
	u, err := parseURL("rtsp://me:secret@" + closedPort(t) + "/live")
	if err != nil {
		t.Fatal(err)
	}
	err = dial(t.Context(), u, Options{}.withDefaults())
	wantError(t, err, ErrLost, "connection refused", "rtsp://me:xxxxx@127.0.0.1")
	wantNoSecret(t, err)
	if !curable(err) {
		t.Error("a dead server has to be tried again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dial(ctx, u, Options{}.withDefaults()); !errors.Is(err, context.Canceled) {
		t.Errorf("dial under a cancelled context: %v", err)
	}
}

func TestIsLive(t *testing.T) {
	for spec, want := range map[string]bool{
		"/dev/video0": true, "/dev/v4l/by-id/usb-cam": true, "rtsp://host/x": true,
		"clip.mkv": false, "/data/dev/video0.gif": false, "synthetic:faces=2": false, "dir/*.png": false,
	} {
		if IsLive(spec) != want {
			t.Errorf("IsLive(%q) is %v", spec, !want)
		}
	}
}
