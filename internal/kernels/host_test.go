package kernels

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// The published first values of splitmix64 for the seed 1234567: its state after k steps is k times the odd constant
// plus the seed, which is what frame k and tile 1234566 give.
func TestMixIsSplitmix64(t *testing.T) {
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := Mix(uint64(i+1), 1234566); got != want {
			t.Errorf("value %d is %d, want %d", i+1, got, want)
		}
	}
}

func TestStampedTilesByHand(t *testing.T) {
	const rowBytes, rows, seq = 72, 40, 9 // 3 × 2 tiles, those at the edges 8 bytes wide and 8 rows high
	frame := make([]byte, rowBytes*rows)
	StampHost(frame, rowBytes, rows, seq)
	for _, c := range []struct{ x, y, tile int }{{0, 0, 0}, {24, 31, 0}, {32, 0, 1}, {64, 31, 2}, {0, 32, 3}, {56, 39, 4}, {64, 39, 5}} {
		if got := binary.LittleEndian.Uint64(frame[c.y*rowBytes+c.x:]); got != Mix(seq, uint64(c.tile)) {
			t.Errorf("at %d,%d: %#x, want the word of tile %d", c.x, c.y, got, c.tile)
		}
	}
	if Tiles(rowBytes, rows) != 6 || Tiles(64, 32) != 2 || Tiles(1, 1) != 1 {
		t.Error("wrong number of tiles")
	}
}

func TestCheckHostCountsWrongTiles(t *testing.T) {
	for _, s := range shapes {
		frame := make([]byte, s.rowBytes*s.rows)
		StampHost(frame, s.rowBytes, s.rows, 5)
		if n := CheckHost(frame, s.rowBytes, s.rows, 5); n != 0 {
			t.Errorf("%v: %d wrong tiles in a whole frame", s, n)
		}
		frame[0] ^= 1
		frame[len(frame)-1] ^= 0x80
		if n, want := CheckHost(frame, s.rowBytes, s.rows, 5), min(2, Tiles(s.rowBytes, s.rows)); n != want {
			t.Errorf("%v: %d wrong tiles, want %d", s, n, want)
		}
		if n := CheckHost(frame, s.rowBytes, s.rows, 6); n != Tiles(s.rowBytes, s.rows) && s.rowBytes%Tile == 0 {
			t.Errorf("%v: %d wrong tiles in another frame, want all", s, n)
		}
	}
}

// Every single byte counts, once for its tile.
func TestCheckHostSeesEveryByte(t *testing.T) {
	const rowBytes, rows = 70, 34
	frame := make([]byte, rowBytes*rows)
	StampHost(frame, rowBytes, rows, 1)
	whole := bytes.Clone(frame)
	for i := range frame {
		frame[i]++
		if n := CheckHost(frame, rowBytes, rows, 1); n != 1 {
			t.Fatalf("byte %d: %d wrong tiles, want 1", i, n)
		}
		frame[i] = whole[i]
	}
}

type shape struct{ rowBytes, rows int }

// shapes are frames with whole tiles, with edges of every kind, and with rows that no 16-byte load can take.
var shapes = []shape{
	{256, 216}, // 256 × 144 NV12
	{32, 32},
	{1, 1},
	{70, 34},
	{640, 45},
	{528, 64}, // a multiple of 16, not of 32; more than one block
	{1032, 33},
	{1923, 65},
}
