package gpuring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"facetrack/gpuring/internal/shm"
)

// CleanStale removes the ring files of a rig whose writers are dead, half-made ones included, and returns
// their paths. A camera whose writer is to go on with its sequence numbers must not be cleaned before that
// writer is back. dir is DefaultDir when empty.
func CleanStale(dir, rig string) ([]string, error) {
	if dir == "" {
		dir = DefaultDir
	}
	if !token.MatchString(rig) {
		return nil, fmt.Errorf("%w: rig %q: use 1 to 32 of A-Z a-z 0-9 _ -", ErrOptions, rig)
	}
	return removeDead(dir, "facetrack-"+rig+"-", rig, controlSuffix, pixelSuffix, temporarySuffix)
}

// removeDead removes the files in dir with the prefix and one of the suffixes whose makers died.
func removeDead(dir, prefix, rig string, suffixes ...string) (removed []string, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	errs := []error{err}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) || !slices.Contains(suffixes, filepath.Ext(entry.Name())) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		gone, err := removeIfDead(path, rig)
		errs = append(errs, err)
		if gone {
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

// removeIfDead removes a file of this user whose owner lock nobody holds. With a rig given, the file's header
// must name it, unless its maker died before writing one.
func removeIfDead(path, rig string) (bool, error) {
	f, size, err := shm.Open(path, shm.NoGroup)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, shm.ErrForeign), errors.Is(err, os.ErrPermission):
		return false, nil
	case err != nil:
		return false, err
	}
	defer func() { _ = f.Close() }() // gives the lock back
	locked, err := shm.TryLock(f, shm.OwnerByte)
	if err != nil || !locked {
		return false, err
	}
	if rig != "" && !madeFor(f, size, rig) {
		return false, nil
	}
	if !shm.IsAt(f, path) {
		return false, nil
	}
	return true, os.Remove(path)
}

func madeFor(f *os.File, size int64, rig string) bool {
	unfinished := strings.HasSuffix(f.Name(), temporarySuffix)
	if size < 8*identityWords {
		return unfinished
	}
	m, err := shm.MapFile(f, 8*identityWords, false)
	if err != nil {
		return false
	}
	defer func() { _ = m.Close() }()
	id, err := getIdentity(m)
	if err != nil { // of another version, or unfinished: its name must do
		return unfinished || m.Word(hMagic).Load() == magic
	}
	return id.rig == rig
}
