// *counter += number of tiles with a byte that is not what stamp_tiles writes, for each of the passes
#include "mix.cuh"

// Loads that are made anew in every pass, from the cache that all of the device shares.
__device__ static inline ulonglong2 load16(const unsigned char *p) {
	ulonglong2 v;
	asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];" : "=l"(v.x), "=l"(v.y) : "l"(p) : "memory");
	return v;
}

__device__ static inline u32 load1(const unsigned char *p) {
	u32 v;
	asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

__device__ static inline u64 nanoseconds() {
	u64 t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) : : "memory");
	return t;
}

__device__ static inline void pause(u32 ns) {
	u64 begin = nanoseconds();
	while (nanoseconds() - begin < ns) {
		__nanosleep(min(ns, 1000u));
	}
}

__device__ static bool wrong(u64 frame, u32 rowBytes, u32 rows, u64 word, u32 x) {
	if (x >= rowBytes) {
		return false;
	}
	u32 bytes = min(PIECE, rowBytes - x);
	bool whole = bytes == PIECE && rowBytes % PIECE == 0 && frame % PIECE == 0;
	u32 end = min((blockIdx.y + 1) * TILE, rows);
	u64 differs = 0;
	for (u32 y = blockIdx.y * TILE + threadIdx.y; y < end; y += WARPS) {
		const unsigned char *piece = (const unsigned char *)(frame + (u64)y * rowBytes + x);
		if (whole) {
			ulonglong2 v = load16(piece);
			differs |= (v.x ^ word) | (v.y ^ word);
			continue;
		}
		for (u32 i = 0; i < bytes; i++) {
			differs |= load1(piece + i) ^ ((word >> (8 * (i % 8))) & 0xff);
		}
	}
	return differs != 0;
}

extern "C" __global__ void check_tiles(u64 frame, u32 rowBytes, u32 rows, u64 seq, u64 counter, u32 passes, u32 pauseNS) {
	__shared__ u32 seen[WARPS];
	u32 x = (blockIdx.x * 32 + threadIdx.x) * PIECE;
	u32 tilesX = (rowBytes + TILE - 1) / TILE;
	u64 word = mix(seq, (u64)blockIdx.y * tilesX + x / TILE);
	for (u32 pass = 0; pass < passes; pass++) {
		if (pass > 0) {
			pause(pauseNS);
		}
		u32 pieces = __ballot_sync(0xffffffff, wrong(frame, rowBytes, rows, word, x));
		if (threadIdx.x == 0) {
			seen[threadIdx.y] = pieces;
		}
		__syncthreads();
		if (threadIdx.x == 0 && threadIdx.y == 0) {
			u32 all = 0;
			for (u32 w = 0; w < WARPS; w++) {
				all |= seen[w];
			}
			u32 tiles = __popc((all | all >> 1) & 0x55555555); // two pieces make the width of a tile
			if (tiles != 0) {
				atomicAdd((u32 *)counter, tiles);
			}
		}
		__syncthreads();
	}
}
