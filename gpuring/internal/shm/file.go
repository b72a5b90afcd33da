package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OwnerByte is the byte whose lock the creator of a file holds for as long as it lives.
const OwnerByte = 0

const noFollow = unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK

// ErrForeign says that the file is not a private file of this user.
var ErrForeign = errors.New("not a private file of this user")

// Create makes a file that must not exist, mode 0600, and holds its owner lock. ok is false when a cleaner
// took the name between the two steps: try again with another name.
func Create(path string) (f *os.File, ok bool, err error) {
	fd, err := unix.Open(path, noFollow|unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("create %s: %w", path, err)
	}
	f = os.NewFile(uintptr(fd), path)
	locked, err := TryLock(f, OwnerByte)
	if err == nil {
		err = f.Chmod(0o600) // whatever the umask took away
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close(), os.Remove(path))
	}
	if !locked || !IsAt(f, path) {
		return nil, false, f.Close()
	}
	return f, true, nil
}

// Reserve gives f its size and every page of it, so that a later write cannot run out of memory.
func Reserve(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reserve %d bytes for %s: %w", size, f.Name(), err)
		}
		return nil
	}
}

// Open opens an existing file for reading and writing and checks that it is a regular file of this user
// with mode 0600. It returns the file's size too. ErrForeign otherwise.
func Open(path string) (*os.File, int64, error) {
	fd, err := unix.Open(path, noFollow|unix.O_RDWR, 0)
	if is(err, unix.ELOOP, unix.EISDIR, unix.ENXIO) { // a link, a folder, a socket
		return nil, 0, fmt.Errorf("open %s: %w: %w", path, ErrForeign, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("stat %s: %w", path, err), f.Close())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o7777 != 0o600 || int(st.Uid) != os.Geteuid() {
		err := fmt.Errorf("%s has mode %o and owner %d: %w", path, st.Mode, st.Uid, ErrForeign)
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size, nil
}

// IsAt reports whether path still names the open file f.
func IsAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// MoveNew renames from to to, which must not exist: unix.EEXIST otherwise.
func MoveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return nil
}
