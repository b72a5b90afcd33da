package ringtest

import "encoding/binary"

// Fill writes the pattern of frame seq: no two frames agree in any 8 bytes, nor two places of a frame.
func Fill(frame []byte, seq uint64) {
	var word [8]byte
	for at := 0; at < len(frame); at += 8 {
		binary.LittleEndian.PutUint64(word[:], patternWord(seq, at))
		copy(frame[at:], word[:])
	}
}

// Whole reports whether every byte of the frame is of the pattern of seq.
func Whole(frame []byte, seq uint64) bool {
	whole := len(frame) / 8 * 8
	for at := 0; at < whole; at += 8 {
		if binary.LittleEndian.Uint64(frame[at:]) != patternWord(seq, at) {
			return false
		}
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], patternWord(seq, whole))
	return string(frame[whole:]) == string(word[:len(frame)-whole])
}

// patternWord is a bijection of seq for a given place: odd factors lose nothing.
func patternWord(seq uint64, at int) uint64 {
	return (seq*0x9e3779b97f4a7c15 + uint64(at)) * 0xd6e8feb86659fd93
}
