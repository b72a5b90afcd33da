package shm

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Map is a shared mapping of a whole file, seen as 64-bit words and as bytes.
type Map struct {
	mem   []byte
	words []atomic.Uint64
}

// MapFile maps the first size bytes of f, page tables filled in advance so that no frame pays for page faults.
// size must be a positive multiple of 8 and f at least as long: an access past its end would kill the process.
func MapFile(f *os.File, size int64, writable bool) (*Map, error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), prot, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of %s: %w", size, f.Name(), err)
	}
	return &Map{mem: mem, words: Words(mem)}, nil
}

// Words shows page-aligned memory as 64-bit words.
func Words(mem []byte) []atomic.Uint64 {
	first := (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem))) // #nosec G103 -- aligned, inside mem
	return unsafe.Slice(first, len(mem)/8)
}

// Word returns the i-th 64-bit word.
func (m *Map) Word(i int) *atomic.Uint64 { return &m.words[i] }

// Bytes returns n bytes from offset off. They may be used until Close.
func (m *Map) Bytes(off, n int) []byte { return m.mem[off : off+n : off+n] }

// Detach ends the mapping and leaves a private copy of the words, so that late callers of Word touch no
// memory that is gone. Bytes may not be used afterwards.
func (m *Map) Detach() error {
	if m.mem == nil {
		return nil
	}
	private := make([]atomic.Uint64, len(m.words))
	for i := range private {
		private[i].Store(m.words[i].Load())
	}
	err := m.Close()
	m.words = private
	return err
}

// Close ends the mapping; a second call does nothing.
func (m *Map) Close() error {
	if m.mem == nil {
		return nil
	}
	mem := m.mem
	m.mem, m.words = nil, nil
	return unix.Munmap(mem)
}
