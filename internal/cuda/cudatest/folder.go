package cudatest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownFolder makes a folder of this user below a public one. One that somebody else has made is refused: what lies in it is
// loaded and run.
func ownFolder(public, name string) (string, error) {
	path := filepath.Join(public, name+"-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s belongs to somebody else or others may write to it: remove it", path)
	}
	return path, nil
}

// newTree makes the folder through which this process and its children share a fake GPU, and removes those of processes
// that have ended. A tree lives as long as its process has its file "tree" locked.
func newTree() (string, error) {
	user, err := ownFolder("/dev/shm", "facetrack-fake-cuda-trees")
	if err != nil {
		return "", err
	}
	all, err := lock(filepath.Join(user, "trees"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer func() { _ = all.Close() }()
	entries, err := os.ReadDir(user)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.IsDir() {
			removeDead(filepath.Join(user, e.Name()))
		}
	}
	folder, err := os.MkdirTemp(user, strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	tree, err := lock(filepath.Join(folder, "tree"), syscall.LOCK_EX|syscall.LOCK_NB)
	kept = append(kept, tree)
	return folder, err
}

var kept []*os.File // open, and so locked, until the process ends

func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 G703 -- below a folder of our own
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func removeDead(folder string) {
	f, err := lock(filepath.Join(folder, "tree"), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return // it lives
	}
	_ = os.RemoveAll(folder)
	_ = f.Close()
}

// sweepDead removes the memory that killed processes left in a tree, which takes room in /dev/shm. The next process that
// opens the fake GPU would do the same; after a test there may be none.
func sweepDead(folder string) {
	all, err := lock(filepath.Join(folder, "registry"), syscall.LOCK_EX) // so that nobody is just about to begin
	if err != nil {
		return
	}
	defer func() { _ = all.Close() }()
	processes, err := filepath.Glob(filepath.Join(folder, "*.process"))
	if err != nil {
		return
	}
	for _, p := range processes {
		f, err := lock(p, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		files, _ := filepath.Glob(strings.TrimSuffix(p, ".process") + "*")
		for _, name := range files {
			_ = os.Remove(name) // #nosec G703 -- below a folder of our own
		}
		_ = f.Close()
	}
}
