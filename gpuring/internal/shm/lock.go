package shm

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock on one byte of f, which need not exist in the file. It returns false when another
// opening of the file holds it. The lock belongs to this opening, not to the process or thread: the kernel
// drops it when the last descriptor and mapping of f are gone, which is at the latest when every thread of
// the process has ended, whatever killed it. No process id is involved, so reused ids, zombies and PID
// namespaces cannot mislead it.
func TryLock(f *os.File, at int64) (bool, error) {
	err := lock(f, at, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// Locked reports whether another opening of the file holds the lock on the byte.
func Locked(f *os.File, at int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err := lock(f, at, unix.F_OFD_GETLK, &l)
	return err == nil && l.Type != unix.F_UNLCK, err
}

// Unlock gives back a lock taken with TryLock.
func Unlock(f *os.File, at int64) error {
	return lock(f, at, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
}

func lock(f *os.File, at int64, command int, l *unix.Flock_t) error {
	l.Whence, l.Start, l.Len = io.SeekStart, at, 1
	for {
		err := unix.FcntlFlock(f.Fd(), command, l)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock byte %d of %s: %w", at, f.Name(), err)
		}
		return nil
	}
}
