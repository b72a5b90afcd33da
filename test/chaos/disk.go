package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// disk is a small file system that can be filled without harm to others.
type disk struct {
	dir   string
	small string // why it is no file system of its own; "" when it is
}

// newDisk mounts a file system of so many bytes on a new folder; without the right to mount it is a plain folder, which is never filled.
func newDisk(dir string, bytes int64) (*disk, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	d := &disk{dir: dir}
	if err := syscall.Mount("chaos", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		d.small = fmt.Sprintf("a file system of its own cannot be mounted: %v", err)
	}
	return d, nil
}

func (d *disk) fillFile() string { return filepath.Join(d.dir, "fill") }

// fill leaves no byte free.
func (d *disk) fill() error {
	if d.small != "" {
		return errors.New(d.small)
	}
	f, err := os.Create(d.fillFile())
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				return errors.Join(err, f.Close())
			}
			block = block[:len(block)/2]
		}
	}
	return f.Close()
}

func (d *disk) free() error { return os.Remove(d.fillFile()) }

func (d *disk) close() error {
	if d == nil || d.small != "" {
		return nil
	}
	return syscall.Unmount(d.dir, syscall.MNT_DETACH)
}
