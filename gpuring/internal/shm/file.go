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

// Modes of files: the owner's alone, or shared with a group.
const (
	privateMode = 0o600
	groupMode   = 0o660
)

// NoGroup is the group of files that are their owner's alone.
const NoGroup = -1

// ErrForeign says that the file is neither a private file of this user nor shared with the group.
var ErrForeign = errors.New("not a private file of this user")

// Create makes a file that must not exist, mode 0600 or, with a group, 0660, and holds its owner lock. ok is false when a
// cleaner took the name between the two steps: try again with another name.
func Create(path string, group int) (f *os.File, ok bool, err error) {
	fd, err := unix.Open(path, noFollow|unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, privateMode)
	if err != nil {
		return nil, false, fmt.Errorf("create %s: %w", path, err)
	}
	f = os.NewFile(uintptr(fd), path)
	locked, err := TryLock(f, OwnerByte)
	if err == nil {
		err = share(f, group)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close(), os.Remove(path))
	}
	if !locked || !IsAt(f, path) {
		return nil, false, f.Close()
	}
	return f, true, nil
}

// share sets group and mode, whatever the umask took away. The group comes first: nobody else's group ever has the file.
func share(f *os.File, group int) error {
	if group == NoGroup {
		return f.Chmod(privateMode)
	}
	if err := f.Chown(-1, group); err != nil {
		return err
	}
	return f.Chmod(groupMode)
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

// Open opens an existing file for reading and writing and checks that it is a regular file of this user with the mode of
// one that Create has made, or of anybody if it is shared with the group. It returns the file's size too. ErrForeign otherwise.
func Open(path string, group int) (*os.File, int64, error) {
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
	mode, own := st.Mode&0o7777, int(st.Uid) == os.Geteuid()
	fits := own && mode == privateMode || mode == groupMode && (own || group != NoGroup && int(st.Gid) == group)
	if st.Mode&unix.S_IFMT != unix.S_IFREG || !fits {
		err := fmt.Errorf("%s has mode %o, owner %d and group %d: %w", path, st.Mode, st.Uid, st.Gid, ErrForeign)
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
