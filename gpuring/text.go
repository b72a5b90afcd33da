package gpuring

import (
	"bytes"
	"encoding/binary"
	"strings"

	"facetrack/gpuring/internal/shm"
)

// putText stores s in n words from word at, cut to 8*n bytes.
func putText(m *shm.Map, at, n int, s string) {
	text := make([]byte, 8*n)
	copy(text, s)
	for i := range n {
		m.Word(at + i).Store(binary.LittleEndian.Uint64(text[8*i:]))
	}
}

func getText(m *shm.Map, at, n int) string {
	text := make([]byte, 0, 8*n)
	for i := range n {
		text = binary.LittleEndian.AppendUint64(text, m.Word(at+i).Load())
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	return strings.ToValidUTF8(string(text), "")
}
