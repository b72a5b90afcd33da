// out[region][y][x] = normalised colour of the region's sample, or of the mean of 2 × 2 samples; a block makes 32 × 8 pixels
#include "emit.cuh"

#define TILE_COLS 32
#define TILE_ROWS 8

struct Region { // image.Region
	Frame frame;
	Grid grid;
	double cx, cy, size, sin, cos; // not needed here
};

template <typename T> struct __align__(16) Tile {
	T values[TILE_ROWS][TILE_COLS * 3];
};

template <typename T> __device__ static inline void crop(u64 regions, u64 out, u32 size, const Norm &norm) {
	__shared__ Tile<T> tile;
	__shared__ Line lines[2 * TILE_ROWS], step;
	Region r = at<const Region>(regions)[blockIdx.z];
	bool twice = r.grid.twice != 0;
	u32 x0 = blockIdx.x * TILE_COLS, y0 = blockIdx.y * TILE_ROWS, each = twice ? 2 : 1;
	if (threadIdx.y == 0 && threadIdx.x < each * TILE_ROWS) {
		lines[threadIdx.x] = line_of(r.grid, each * y0 + threadIdx.x);
	}
	if (threadIdx.y == 1 && threadIdx.x == 0) {
		step = {fixed(r.grid.dx), fixed(r.grid.dy)};
	}
	__syncthreads();
	if (x0 + threadIdx.x < size && y0 + threadIdx.y < size) {
		Line top = lines[each * threadIdx.y], low = lines[each * threadIdx.y + each - 1];
		float v[3];
		emit(v, norm, r.frame.format, pixel(r.frame, twice, top, low, x0 + threadIdx.x, step.u, step.v));
		store(tile.values[threadIdx.y] + 3 * threadIdx.x, v);
	}
	__syncthreads();
	if (y0 + threadIdx.y < size) { // a warp writes a row
		u64 first = ((u64)blockIdx.z * size + y0 + threadIdx.y) * size + x0;
		copy_out(out + first * 3 * sizeof(T), tile.values[threadIdx.y], 3 * min((u32)TILE_COLS, size - x0), threadIdx.x, TILE_COLS);
	}
}

extern "C" __global__ void __launch_bounds__(256) crop_f32(u64 regions, u64 out, u32 size, NORM_PARAMETERS) {
	crop<float>(regions, out, size, NORM);
}
EMULATED(crop_f32);

extern "C" __global__ void __launch_bounds__(256) crop_f16(u64 regions, u64 out, u32 size, NORM_PARAMETERS) {
	crop<__half>(regions, out, size, NORM);
}
EMULATED(crop_f16);
