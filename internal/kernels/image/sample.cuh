// Bilinear samples of camera frames, as package vision takes them: positions in 32.32 fixed point, cut to 1/256 of a pixel;
// sums are 8-bit values times 65536.
#pragma once
#include "portable.cuh"

typedef long long i64;

enum Format { BGR, NV12, YUYV };

struct Frame {
	u64 address;
	u32 format;
	int width, height;
};

struct Sample { // blue, green, red, or Y, Cb, Cr
	int c[3];
};

__device__ static inline i64 fixed(double x) { return (i64)__dmul_rn(x, 4294967296.0); }

// Half of 1/256 makes the cut of positions round.
__device__ static inline i64 position(double x) { return fixed(__dadd_rn(__dadd_rn(x, -0.5), 1.0 / 512)); }

struct Taps {
	int x0, x1, y0, y1;
	int w00, w01, w10, w11;
};

__device__ static inline int clamp(int i, int n) { return max(0, min(i, n - 1)); }

__device__ static inline Taps taps_at(const Frame &f, i64 u, i64 v) {
	Taps t;
	int x = (int)(u >> 32), y = (int)(v >> 32), fx = (int)(u >> 24) & 0xff, fy = (int)(v >> 24) & 0xff;
	t.x0 = clamp(x, f.width), t.x1 = clamp(x + 1, f.width);
	t.y0 = clamp(y, f.height), t.y1 = clamp(y + 1, f.height);
	t.w11 = fx * fy;
	t.w01 = (fx << 8) - t.w11;
	t.w10 = (fy << 8) - t.w11;
	t.w00 = 65536 - t.w01 - t.w10 - t.w11;
	return t;
}

__device__ static inline int weighted(const Taps &t, int a, int b, int c, int d) {
	return t.w00 * a + t.w01 * b + t.w10 * c + t.w11 * d;
}

__device__ static inline Sample sample_bgr(const u8 *pixels, const Frame &f, const Taps &t) {
	const u8 *top = pixels + (i64)t.y0 * 3 * f.width, *low = pixels + (i64)t.y1 * 3 * f.width;
	Sample s;
	for (int c = 0; c < 3; c++) {
		s.c[c] = weighted(t, __ldg(top + 3 * t.x0 + c), __ldg(top + 3 * t.x1 + c), __ldg(low + 3 * t.x0 + c), __ldg(low + 3 * t.x1 + c));
	}
	return s;
}

__device__ static inline Sample sample_nv12(const u8 *pixels, const Frame &f, const Taps &t) {
	const u8 *top = pixels + (i64)t.y0 * f.width, *low = pixels + (i64)t.y1 * f.width;
	// Cb and Cr in one load: widths are even.
	const u16 *chroma = reinterpret_cast<const u16 *>(pixels + (i64)f.width * f.height);
	const u16 *upper = chroma + (i64)(t.y0 >> 1) * (f.width >> 1), *lower = chroma + (i64)(t.y1 >> 1) * (f.width >> 1);
	int a = __ldg(upper + (t.x0 >> 1)), b = __ldg(upper + (t.x1 >> 1)), c = __ldg(lower + (t.x0 >> 1)), d = __ldg(lower + (t.x1 >> 1));
	Sample s;
	s.c[0] = weighted(t, __ldg(top + t.x0), __ldg(top + t.x1), __ldg(low + t.x0), __ldg(low + t.x1));
	s.c[1] = weighted(t, a & 0xff, b & 0xff, c & 0xff, d & 0xff);
	s.c[2] = weighted(t, a >> 8, b >> 8, c >> 8, d >> 8);
	return s;
}

__device__ static inline Sample sample_yuyv(const u8 *pixels, const Frame &f, const Taps &t) {
	const u32 *pairs = reinterpret_cast<const u32 *>(pixels); // Y0 Cb Y1 Cr
	const u32 *top = pairs + (i64)t.y0 * (f.width >> 1), *low = pairs + (i64)t.y1 * (f.width >> 1);
	u32 a = __ldg(top + (t.x0 >> 1)), b = __ldg(top + (t.x1 >> 1)), c = __ldg(low + (t.x0 >> 1)), d = __ldg(low + (t.x1 >> 1));
	int left = (t.x0 & 1) * 16, right = (t.x1 & 1) * 16;
	Sample s;
	s.c[0] = weighted(t, a >> left & 0xff, b >> right & 0xff, c >> left & 0xff, d >> right & 0xff);
	s.c[1] = weighted(t, a >> 8 & 0xff, b >> 8 & 0xff, c >> 8 & 0xff, d >> 8 & 0xff);
	s.c[2] = weighted(t, a >> 24, b >> 24, c >> 24, d >> 24);
	return s;
}

__device__ static inline Sample sample(const Frame &f, i64 u, i64 v) {
	const u8 *pixels = at<const u8>(f.address);
	Taps t = taps_at(f, u, v);
	switch (f.format) {
	case NV12:
		return sample_nv12(pixels, f, t);
	case YUYV:
		return sample_yuyv(pixels, f, t);
	default:
		return sample_bgr(pixels, f, t);
	}
}

// The grid of a region: the first sample, and the step along a row; a row further is (-dy, dx).
struct Grid {
	double x, y, dx, dy;
	u32 twice; // 2 × 2 samples a pixel
};

struct Line {
	i64 u, v;
};

__device__ static inline Line line_of(const Grid &g, u32 row) {
	double k = (double)row;
	return {position(__dadd_rn(g.x, -__dmul_rn(k, g.dy))), position(__dadd_rn(g.y, __dmul_rn(k, g.dx)))};
}

// Pixel x of a row whose samples begin at top, and at low in the row of samples below it.
__device__ static inline Sample pixel(const Frame &f, bool twice, Line top, Line low, u32 x, i64 du, i64 dv) {
	if (!twice) {
		return sample(f, top.u + x * du, top.v + x * dv);
	}
	i64 u = 2 * (i64)x * du, v = 2 * (i64)x * dv;
	Sample a = sample(f, top.u + u, top.v + v), b = sample(f, top.u + u + du, top.v + v + dv);
	Sample c = sample(f, low.u + u, low.v + v), d = sample(f, low.u + u + du, low.v + v + dv);
	for (int i = 0; i < 3; i++) {
		a.c[i] = (a.c[i] + b.c[i] + c.c[i] + d.c[i]) >> 2;
	}
	return a;
}
