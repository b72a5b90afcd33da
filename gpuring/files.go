package gpuring

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"facetrack/gpuring/internal/shm"
)

const (
	controlSuffix   = ".ctl"
	pixelSuffix     = ".pix"
	temporarySuffix = ".tmp"
)

func newNonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// createTemporary makes a locked file beside its final name.
func createTemporary(final string, nonce uint64, group int) (*os.File, string, error) {
	const tries = 100 // a name is taken from us only while a cleaner looks at it
	for n := range tries {
		path := fmt.Sprintf("%s.%016x-%d%s", final, nonce, n, temporarySuffix)
		f, ok, err := shm.Create(path, group)
		if err != nil || ok {
			return f, path, err
		}
	}
	return nil, "", fmt.Errorf("%s: every temporary name was removed by another process", final)
}

func reserveAndMap(f *os.File, size int64) (*shm.Map, error) {
	if err := shm.Reserve(f, size); err != nil {
		return nil, err
	}
	return shm.MapFile(f, size, true)
}

// unlinkOwn removes path unless it names another file by now.
func unlinkOwn(f *os.File, path string) error {
	if !shm.IsAt(f, path) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
