package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// isDevicePath tells camera devices, the stable names of udev included, from files.
func isDevicePath(spec string) bool {
	return strings.HasPrefix(spec, "/dev/video") || strings.HasPrefix(spec, "/dev/v4l/")
}

func openDevice(ctx context.Context, path string, opts Options) (Source, error) {
	if err := checkDevice(path); err != nil {
		return nil, err
	}
	return openCamera(ctx, path, opts)
}

// checkDevice finds the plain reasons why a camera cannot be opened before OpenCV hides them behind "false".
func checkDevice(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return deviceError(path, err, cameras())
	}
	if st.Mode()&fs.ModeCharDevice == 0 {
		return fmt.Errorf("%w: %s is not a camera device", ErrUnsupported, path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0) // #nosec G304 -- the operator names the camera
	if err != nil {
		return deviceError(path, err, cameras())
	}
	return f.Close()
}

// deviceError explains why the camera at path could not be opened.
func deviceError(path string, err error, present []string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		list := "no /dev/video* exists: is the camera plugged in, and passed into the container?"
		if len(present) > 0 {
			list = "there are " + strings.Join(present, ", ")
		}
		return fmt.Errorf("%w: no camera at %s; %s", ErrNotFound, path, list)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s; add the user to the group video (usermod -aG video USER) and log in again", ErrPermission, path)
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: %s is in use by another program; fuser -v %s names it", ErrLost, path, path)
	}
	return fmt.Errorf("%w: %s: %w", ErrLost, path, err)
}

// cameras lists the video devices that exist, in natural order.
func cameras() []string {
	found, err := filepath.Glob("/dev/video*")
	if err != nil {
		return nil
	}
	sortNatural(found)
	return found
}
