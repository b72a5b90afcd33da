// frame[y][x] = byte x % 8 of mix(seq, tile of x, y)
#include "mix.cuh"

extern "C" __global__ void stamp_tiles(u64 frame, u32 rowBytes, u32 rows, u64 seq) {
	u32 x = (blockIdx.x * 32 + threadIdx.x) * PIECE;
	if (x >= rowBytes) {
		return;
	}
	u32 tilesX = (rowBytes + TILE - 1) / TILE;
	u64 word = mix(seq, (u64)blockIdx.y * tilesX + x / TILE);
	u32 bytes = min(PIECE, rowBytes - x);
	bool whole = bytes == PIECE && rowBytes % PIECE == 0 && frame % PIECE == 0;
	u32 end = min((blockIdx.y + 1) * TILE, rows);
	for (u32 y = blockIdx.y * TILE + threadIdx.y; y < end; y += WARPS) {
		unsigned char *piece = (unsigned char *)(frame + (u64)y * rowBytes + x);
		if (whole) {
			*(ulonglong2 *)piece = make_ulonglong2(word, word);
			continue;
		}
		for (u32 i = 0; i < bytes; i++) {
			piece[i] = (unsigned char)(word >> (8 * (i % 8)));
		}
	}
}
