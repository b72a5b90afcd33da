// out[face] = grid of 4 × 5 cells over the face's grown region, three values a cell, of unit length: a warp for each cell
#include "emit.cuh"

#define CELL_COLS 4
#define CELL_ROWS 5
#define CELLS (CELL_COLS * CELL_ROWS)
#define SIDE 40 // of the crop that the cells divide
#define CELL_WIDTH (SIDE / CELL_COLS)
#define CELL_HEIGHT (SIDE / CELL_ROWS)
#define GROW 1.3
#define COLOUR 12.0f // weight of colour against brightness
#define DARKEST 0.02f // of the mean brightness, against noise in the dark

struct Region { // the last frame of a face: of image.Region
	Frame frame;
};

struct Place { // faces.Next
	double cx, cy, size, sin, cos;
	u64 valid;
};

__device__ static inline Grid grid_of(const Place &p) {
	double size = p.size * GROW;
	u32 twice = size > 2 * SIDE;
	double n = twice ? 2 * SIDE : SIDE, first = (0.5 / n - 0.5) * size, step = size / n;
	return {p.cx + first * p.cos - first * p.sin, p.cy + first * p.sin + first * p.cos, step * p.cos, step * p.sin, twice};
}

__device__ static inline float warp_sum(float v) {
	for (int bits = 16; bits; bits /= 2) {
		v += __shfl_xor_sync(0xffffffff, v, bits);
	}
	return v;
}

__device__ static inline void cell_mean(float (&mean)[3], const Frame &f, const Grid &g, const Norm &norm, u32 cell, u32 lane) {
	i64 du = fixed(g.dx), dv = fixed(g.dy);
	float sum[3] = {0, 0, 0}, v[3];
	for (u32 i = lane; i < CELL_WIDTH * CELL_HEIGHT; i += 32) {
		u32 x = cell % CELL_COLS * CELL_WIDTH + i % CELL_WIDTH, y = cell / CELL_COLS * CELL_HEIGHT + i / CELL_WIDTH, each = g.twice ? 2 : 1;
		emit(v, norm, f.format, pixel(f, g.twice != 0, line_of(g, each * y), line_of(g, each * y + each - 1), x, du, dv));
		for (int c = 0; c < 3; c++) {
			sum[c] += v[c];
		}
	}
	for (int c = 0; c < 3; c++) {
		mean[c] = warp_sum(sum[c]) / (CELL_WIDTH * CELL_HEIGHT);
	}
}

__device__ static inline float brightness(const float (&c)[3]) { return (c[0] + c[1] + c[2]) / 3; }

// The last step is one warp's; lanes beyond the cells add nothing.
__device__ static inline void describe(float *out, const float (&c)[3], bool cell) {
	float mean = warp_sum(cell ? brightness(c) : 0) / CELLS;
	float y = brightness(c) + DARKEST * mean;
	float d[3] = {0, 0, 0};
	if (cell && mean > 0) { // black is like nobody
		d[0] = logf(y / mean);
		d[1] = COLOUR * (c[0] - c[1]) / y;
		d[2] = COLOUR * (c[1] - c[2]) / y;
	}
	float length = sqrtf(warp_sum(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
	float unit = length > 0 ? 1 / length : 0;
	if (cell) {
		out[0] = d[0] * unit, out[1] = d[1] * unit, out[2] = d[2] * unit;
	}
}

extern "C" __global__ void __launch_bounds__(32 * CELLS)
appearance(u64 regions, u32 region_bytes, u64 places, u64 out, u32 out_bytes, NORM_PARAMETERS) {
	__shared__ float means[CELLS][3];
	Norm norm = NORM;
	Frame f = at<const Region>(regions + (u64)blockIdx.x * region_bytes)->frame;
	Place p = at<const Place>(places)[blockIdx.x];
	u32 lane = threadIdx.x % 32, cell = threadIdx.x / 32;
	float mean[3] = {0, 0, 0};
	if (p.valid) { // the same for all of the block
		cell_mean(mean, f, grid_of(p), norm, cell, lane);
	}
	if (lane == 0) {
		means[cell][0] = mean[0], means[cell][1] = mean[1], means[cell][2] = mean[2];
	}
	__syncthreads();
	if (cell == 0) {
		bool own = lane < CELLS;
		u32 from = own ? lane : 0;
		float c[3] = {means[from][0], means[from][1], means[from][2]};
		describe(at<float>(out + (u64)blockIdx.x * out_bytes) + 3 * lane, c, own);
	}
}
EMULATED(appearance);
