// out[item][y][x] = normalised colour of the frame, fitted into the square: box means when it shrinks, bilinear samples when it grows
#include "blend.cuh"
#include "emit.cuh"

#define THREADS 256
#define SPAN_BYTES 20480 // of the source rows that a pass keeps, after blending (image.spanBytes)
#define MOST_COLS 512    // of the input in a pass (image.mostColumns)

struct Item { // image.Letterbox
	Frame frame;
	u64 table;
	u32 cols, rows, left, top; // of the picture
	u32 step;                  // columns of a pass
	u32 columns;               // where in the table the columns begin
	u32 taps, chroma_taps;     // along a row; none: the picture grows
	double scale, offset_x, offset_y;
};

struct Filter { // of one output row
	u32 first, count, weights, none;
};

// Table: for each row the filters of luma and chroma, then those filters' weights; from `columns` on the first pixel of each
// column, its first chroma sample, then for each tap the weights of all columns, and the same for chroma.
struct Columns {
	const u32 *first, *chroma_first, *weights, *chroma_weights;
};

__device__ static inline Columns columns_of(const Item &m) {
	const u32 *p = at<const u32>(m.table) + m.columns;
	return {p, p + m.cols, p + 2 * m.cols, p + (2 + m.taps) * m.cols};
}

template <typename T> struct __align__(16) Pass {
	u8 span[SPAN_BYTES + 32];
	T out[MOST_COLS * 3];
};

__device__ static inline int tap_sum(const u8 *bytes, u32 step, const u32 *weights, u32 taps, u32 cols) {
	u32 sum = 0;
#pragma unroll 4
	for (u32 k = 0; k < taps; k++) {
		sum += bytes[k * step] * __ldg(weights + k * cols);
	}
	return (int)sum;
}

__device__ static inline u32 pixel_bytes(u32 format) { return format == BGR ? 3 : format == YUYV ? 2 : 1; }

struct Shared { // where the blended bytes of a pass lie
	const u8 *luma, *chroma;
	u32 first, chroma_first; // the bytes of the row they begin with
};

// blend_rows makes one source row of those that output row y covers, for the picture's columns c0 to c1-1.
__device__ static Shared blend_rows(const Item &m, const Columns &t, u8 *span, u32 y, u32 c0, u32 c1) {
	const Filter *filters = at<const Filter>(m.table) + 2 * y;
	const u32 *table = at<const u32>(m.table);
	u32 each = pixel_bytes(m.frame.format), stride = each * m.frame.width;
	u32 first = each * __ldg(t.first + c0), end = each * (__ldg(t.first + c1 - 1) + m.taps);
	u32 pair = 0, pair_end = 0;
	if (m.frame.format != BGR) {
		u32 bytes = 2 * each; // of a chroma sample, from one to the next
		pair = bytes * __ldg(t.chroma_first + c0), pair_end = bytes * (__ldg(t.chroma_first + c1 - 1) + m.chroma_taps);
	}
	if (m.frame.format == YUYV) {
		first = min(first, pair), end = max(end, pair_end);
	}
	Span luma = widened(first, end, stride), chroma = widened(pair, pair_end, stride);
	Filter f = filters[0];
	blend(span, m.frame.address + (u64)f.first * stride, luma, stride, table + f.weights, f.count, threadIdx.x, THREADS);
	u8 *behind = span + ((luma.end - luma.first + 15) & ~15u);
	if (m.frame.format == NV12) { // the threads that had no luma come first
		Filter g = filters[1];
		u64 plane = m.frame.address + (u64)m.frame.width * m.frame.height;
		blend(behind, plane + (u64)g.first * stride, chroma, stride, table + g.weights, g.count, (threadIdx.x + THREADS / 2) % THREADS, THREADS);
		return {span, behind, luma.first, chroma.first};
	}
	return {span, span, luma.first, luma.first};
}

__device__ static inline Sample shrunk(const Item &m, const Columns &t, const Shared &s, u32 c) {
	const u8 *luma = s.luma + pixel_bytes(m.frame.format) * __ldg(t.first + c) - s.first;
	const u32 *weights = t.weights + c;
	if (m.frame.format == BGR) {
		return {{tap_sum(luma, 3, weights, m.taps, m.cols), tap_sum(luma + 1, 3, weights, m.taps, m.cols), tap_sum(luma + 2, 3, weights, m.taps, m.cols)}};
	}
	u32 step = m.frame.format == NV12 ? 1 : 2, next = m.frame.format == NV12 ? 1 : 2;
	const u8 *chroma = s.chroma + 2 * step * __ldg(t.chroma_first + c) - s.chroma_first + (m.frame.format == NV12 ? 0 : 1);
	const u32 *chroma_weights = t.chroma_weights + c;
	return {{tap_sum(luma, step, weights, m.taps, m.cols), tap_sum(chroma, 2 * step, chroma_weights, m.chroma_taps, m.cols),
		tap_sum(chroma + next, 2 * step, chroma_weights, m.chroma_taps, m.cols)}};
}

// One output row, columns o0 to o1-1, into shared memory.
template <typename T> __device__ static inline void fill(Pass<T> &pass, const Item &m, const Norm &norm, u32 y, u32 o0, u32 o1) {
	u32 c0 = o0 > m.left ? o0 - m.left : 0, c1 = min(o1 > m.left ? o1 - m.left : 0, m.cols);
	bool picture = y - m.top < m.rows && c0 < c1;
	Columns t = {};
	Shared s = {};
	Line line = {}, step = {};
	if (picture && m.taps) {
		t = columns_of(m);
		s = blend_rows(m, t, pass.span, y - m.top, c0, c1);
		__syncthreads();
	} else if (picture) {
		line = {position(__dmul_rn(0.5, m.scale)), position(__dmul_rn(__dadd_rn((double)(y - m.top), 0.5), m.scale))};
		step.u = fixed(m.scale);
	}
	for (u32 o = o0 + threadIdx.x; o < o1; o += THREADS) {
		u32 c = o - m.left;
		float v[3] = {norm.bias, norm.bias, norm.bias};
		if (picture && c < m.cols) {
			emit(v, norm, m.frame.format, m.taps ? shrunk(m, t, s, c) : sample(m.frame, line.u + c * step.u, line.v));
		}
		store(pass.out + 3 * (o - o0), v);
	}
}

template <typename T> __device__ static inline void letterbox(u64 items, u64 out, u32 size, const Norm &norm) {
	__shared__ Pass<T> pass;
	Item m = at<const Item>(items)[blockIdx.y];
	u32 y = blockIdx.x;
	for (u32 o = 0; o < size; o += m.step) {
		u32 end = min(o + m.step, size);
		fill(pass, m, norm, y, o, end);
		__syncthreads();
		copy_out(out + (((u64)blockIdx.y * size + y) * size + o) * 3 * sizeof(T), pass.out, 3 * (end - o), threadIdx.x, THREADS);
		__syncthreads();
	}
}

extern "C" __global__ void __launch_bounds__(THREADS) letterbox_f32(u64 items, u64 out, u32 size, NORM_PARAMETERS) {
	letterbox<float>(items, out, size, NORM);
}
EMULATED(letterbox_f32);

extern "C" __global__ void __launch_bounds__(THREADS) letterbox_f16(u64 items, u64 out, u32 size, NORM_PARAMETERS) {
	letterbox<__half>(items, out, size, NORM);
}
EMULATED(letterbox_f16);
