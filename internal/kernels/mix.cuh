// The content of tile number `tile` of frame number `seq`. For one tile, two different frames never have the same word:
// an odd factor, and steps that can each be undone.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ static inline u64 mix(u64 seq, u64 tile) {
	u64 z = seq * 0x9E3779B97F4A7C15ull + tile + 1;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

// A block is 32 × 8 threads and covers 512 × 32 bytes, 16 tiles side by side: neighbouring threads of a warp take
// neighbouring 16 bytes of one row, the eight warps take every eighth row.
#define TILE 32
#define PIECE 16
#define WARPS 8
