package kernels

import (
	"bytes"
	"encoding/binary"
)

// Tile is the width in bytes and the height in rows of a tile.
const Tile = 32

// Mix is the word that fills tile number tile of frame seq.
func Mix(seq, tile uint64) uint64 {
	z := seq*0x9E3779B97F4A7C15 + tile + 1
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// Tiles is the number of tiles of a frame; those at the right and lower edge may be smaller.
func Tiles(rowBytes, rows int) int {
	return (rowBytes + Tile - 1) / Tile * ((rows + Tile - 1) / Tile)
}

// StampHost does to a frame of rows*rowBytes bytes in host memory what stamp_tiles does on the GPU.
func StampHost(frame []byte, rowBytes, rows int, seq uint64) {
	eachTile(rowBytes, rows, func(tile, x0, x1, y0, y1 int) {
		line := lineOf(seq, tile)
		for y := y0; y < y1; y++ {
			copy(frame[y*rowBytes+x0:y*rowBytes+x1], line[:])
		}
	})
}

// CheckHost counts the tiles of a frame in host memory that are not as StampHost writes them: one pass of check_tiles.
func CheckHost(frame []byte, rowBytes, rows int, seq uint64) (tiles int) {
	eachTile(rowBytes, rows, func(tile, x0, x1, y0, y1 int) {
		line := lineOf(seq, tile)
		for y := y0; y < y1; y++ {
			if !bytes.Equal(frame[y*rowBytes+x0:y*rowBytes+x1], line[:x1-x0]) {
				tiles++
				return
			}
		}
	})
	return tiles
}

// lineOf is one row of a tile.
func lineOf(seq uint64, tile int) (line [Tile]byte) {
	for x := 0; x < Tile; x += 8 {
		binary.LittleEndian.PutUint64(line[x:], Mix(seq, uint64(tile)))
	}
	return line
}

// eachTile calls f with the number of each tile, its columns x0 to x1-1 and its rows y0 to y1-1.
func eachTile(rowBytes, rows int, f func(tile, x0, x1, y0, y1 int)) {
	tile := 0
	for y := 0; y < rows; y += Tile {
		for x := 0; x < rowBytes; x += Tile {
			f(tile, x, min(x+Tile, rowBytes), y, min(y+Tile, rows))
			tile++
		}
	}
}
