// Package task opens `.task` bundles: zip archives whose members (models and metadata) are stored without compression.
package task

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// ErrMalformed says that the bundle is not a stored zip archive, or is truncated or corrupt.
var ErrMalformed = errors.New("task: malformed bundle")

// Limits of a bundle.
const (
	MaxSize    = 1 << 29 // bytes
	MaxMembers = 64
)

// Bundle gives access to the members of an archive in memory.
type Bundle struct {
	names   []string
	members map[string][]byte
}

// Open reads the archive's directory and checks every member's checksum. Members alias data, which must not change.
func Open(data []byte) (*Bundle, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes is above the limit of %d", ErrMalformed, len(data), MaxSize)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: the zip directory cannot be read; is the file complete? %w", ErrMalformed, err)
	}
	if len(r.File) == 0 || len(r.File) > MaxMembers {
		return nil, fmt.Errorf("%w: %d members; needs 1 to %d", ErrMalformed, len(r.File), MaxMembers)
	}
	b := &Bundle{members: make(map[string][]byte, len(r.File))}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		content, err := member(data, f)
		if err != nil {
			return nil, fmt.Errorf("%w: member %q: %w", ErrMalformed, f.Name, err)
		}
		if _, twice := b.members[f.Name]; twice {
			return nil, fmt.Errorf("%w: member %q appears twice", ErrMalformed, f.Name)
		}
		b.names = append(b.names, f.Name)
		b.members[f.Name] = content
	}
	return b, nil
}

func member(data []byte, f *zip.File) ([]byte, error) {
	if f.Method != zip.Store {
		return nil, fmt.Errorf("compressed with method %d; members must be stored", f.Method)
	}
	if f.CompressedSize64 != f.UncompressedSize64 {
		return nil, fmt.Errorf("stored sizes %d and %d differ", f.CompressedSize64, f.UncompressedSize64)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("local header cannot be read: %w", err)
	}
	size := f.UncompressedSize64
	if at < 0 || at > int64(len(data)) || size > uint64(len(data))-uint64(at) {
		return nil, fmt.Errorf("%d bytes at %d leave the file of %d bytes", size, at, len(data))
	}
	content := data[at:][:size:size]
	if sum := crc32.ChecksumIEEE(content); sum != f.CRC32 {
		return nil, fmt.Errorf("checksum %08x, the directory says %08x: the file is corrupt", sum, f.CRC32)
	}
	return content, nil
}

// Names lists the members in the order of the archive's directory.
func (b *Bundle) Names() []string { return append([]string(nil), b.names...) }

// Member returns a member's bytes, and whether there is such a member.
func (b *Bundle) Member(name string) ([]byte, bool) {
	content, ok := b.members[name]
	return content, ok
}
