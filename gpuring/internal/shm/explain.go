package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Explain turns an error of Create, Reserve or MapFile for a ring of size bytes in folder dir into one line
// that names the cure. full reports that memory ran out.
func Explain(err error, dir string, size int64) (line error, full bool) {
	const mib = 1 << 20
	switch {
	case is(err, unix.ENOENT, unix.ENOTDIR):
		return fmt.Errorf("the ring folder %s does not exist: mount a tmpfs there (mount -t tmpfs tmpfs %s) or name another folder: %w", dir, dir, err), false
	case is(err, unix.EROFS):
		return fmt.Errorf("the ring folder %s is read-only: remount it (mount -o remount,rw %s) or name another folder: %w", dir, dir, err), false
	case is(err, unix.EACCES, unix.EPERM):
		return fmt.Errorf("no permission in the ring folder %s: give this user access (chmod 1777 %s) or name another folder: %w", dir, dir, err), false
	case Full(err):
		return fmt.Errorf("the ring needs %d MiB in %s and has %s: use fewer slots or smaller frames, or enlarge it (mount -o remount,size=… %s; in a container --shm-size): %w",
			(size+mib-1)/mib, dir, freeSpace(dir), dir, err), true
	case is(err, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL):
		return fmt.Errorf("the file system of %s cannot hold a ring: name a folder on a tmpfs, as /dev/shm: %w", dir, err), false
	}
	return err, false
}

// Full tells whether memory ran out.
func Full(err error) bool { return is(err, unix.ENOSPC, unix.ENOMEM, unix.EDQUOT, unix.EFBIG) }

// Total is how much the file system of dir can hold, or 0.
func Total(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0
	}
	return int64(st.Blocks) * int64(st.Bsize) //nolint:unconvert // their types differ between processors
}

func is(err error, codes ...unix.Errno) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func freeSpace(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "less"
	}
	return fmt.Sprintf("%d MiB free", st.Bavail*uint64(st.Bsize)>>20)
}
