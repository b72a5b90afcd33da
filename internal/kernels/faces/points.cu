// record[face] = face points in the frame, presence, box and next region, and what else the network tells; blendshapes[face] = the points
// that the blendshape network reads
#include "finite.cuh"
#include "indices.cuh"
#include "record.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)
#define MOST 1024 // points (faces.maxPoints)
#define MOST_SIDE 131072.0 // of a region, and the farthest it may lie
#define MARGIN 1.5

struct Region { // at image.RegionPlace of an image.Region
	double cx, cy, size, sin, cos;
};

struct Point {
	double x, y;
};

// Limits are the lowest and highest of two coordinates.
struct Limits {
	double x0, y0, x1, y1;
};

__device__ static inline void widen(Limits &l, double x, double y) {
	l.x0 = fmin(l.x0, x), l.x1 = fmax(l.x1, x), l.y0 = fmin(l.y0, y), l.y1 = fmax(l.y1, y);
}

__device__ static inline Limits nothing() { return {INFINITY, INFINITY, -INFINITY, -INFINITY}; }

__device__ static inline Limits warp_limits(Limits l) {
	for (int bits = 16; bits; bits /= 2) {
		l.x0 = fmin(l.x0, __shfl_xor_sync(0xffffffff, l.x0, bits));
		l.y0 = fmin(l.y0, __shfl_xor_sync(0xffffffff, l.y0, bits));
		l.x1 = fmax(l.x1, __shfl_xor_sync(0xffffffff, l.x1, bits));
		l.y1 = fmax(l.y1, __shfl_xor_sync(0xffffffff, l.y1, bits));
	}
	return l;
}

// next_region is vision.ROIFromPoints of points whose limits, turned back by the rotation, are l.
__device__ static Next next_region(const Limits &l, double sin, double cos, double rotation) {
	Next r;
	double x = (l.x0 + l.x1) / 2, y = (l.y0 + l.y1) / 2;
	r.cx = x * cos - y * sin, r.cy = x * sin + y * cos;
	r.size = fmax(l.x1 - l.x0, l.y1 - l.y0) * MARGIN;
	r.sin = sin, r.cos = cos;
	r.valid = fabs(r.cx) <= MOST_SIDE && fabs(r.cy) <= MOST_SIDE && fabs(rotation) <= MOST_SIDE && r.size >= 1 && r.size <= MOST_SIDE;
	return r;
}

// keep copies n numbers of a face and tells whether this thread's are finite.
__device__ static inline bool keep(float *to, u64 from, u32 face, u32 n) {
	bool good = true;
	for (u32 i = threadIdx.x; i < n; i += THREADS) {
		float v = __ldg(at<const float>(from) + (u64)face * n + i);
		good = good && !infinite(v);
		to[i] = v;
	}
	return good;
}

// right and left are the outer corners of the eyes; spread, coefficients, turn and blendshapes may be 0.
extern "C" __global__ void __launch_bounds__(THREADS)
points(u64 raw, u64 presence, u64 spread, u64 coefficients, u64 turn, u32 n, u32 right, u32 left, double unit, u64 regions, u32 region_bytes,
		u64 records, u32 record_bytes, u64 places, u64 blendshapes) {
	__shared__ Point frame[MOST];
	__shared__ Limits limits[WARPS], turned[WARPS];
	__shared__ u32 wrong[WARPS];
	u32 face = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	Region r = *at<const Region>(regions + (u64)face * region_bytes);
	float logit = __ldg(at<const float>(presence) + face);
	float *record = at<float>(records + (u64)face * record_bytes);
	bool bad = infinite(logit);
	Limits upright = nothing(), own = nothing();
	for (u32 i = threadIdx.x; i < n; i += THREADS) {
		const float *p = at<const float>(raw) + ((u64)face * n + i) * 3;
		float px = __ldg(p), py = __ldg(p + 1), pz = __ldg(p + 2);
		bad = bad || infinite(px) || infinite(py) || infinite(pz);
		double x = (px * unit - 0.5) * r.size, y = (py * unit - 0.5) * r.size;
		Point q = {r.cx + x * r.cos - y * r.sin, r.cy + x * r.sin + y * r.cos};
		frame[i] = q;
		widen(upright, q.x, q.y);
		record[POINTS + 3 * i] = (float)q.x;
		record[POINTS + 3 * i + 1] = (float)q.y;
		record[POINTS + 3 * i + 2] = (float)(pz * unit * r.size);
	}
	float *end = record + POINTS + 3 * n;
	if (spread) {
		bad = !keep(end, spread, face, n) || bad;
		end += n;
	}
	if (turn) {
		bad = !keep(end, turn, face, TURN) || bad;
	}
	if (coefficients) {
		bad = !keep(record + BLENDSHAPES, coefficients, face, SCORES) || bad;
	}
	u32 lanes = __ballot_sync(0xffffffff, bad);
	upright = warp_limits(upright);
	if (lane == 0) {
		wrong[warp] = lanes;
		limits[warp] = upright;
	}
	__syncthreads();
	if (blendshapes) {
		for (u32 i = threadIdx.x; i < READ; i += THREADS) {
			Point q = frame[index_of[i]];
			at<float2>(blendshapes)[face * READ + i] = make_float2((float)(q.x - r.cx), (float)(q.y - r.cy));
		}
	}
	Point from = frame[right], to = frame[left];
	double dx = to.x - from.x, dy = to.y - from.y, length = sqrt(dx * dx + dy * dy);
	double sin = length > 0 ? dy / length : 0, cos = length > 0 ? dx / length : 1;
	for (u32 i = threadIdx.x; i < n; i += THREADS) {
		Point q = frame[i];
		widen(own, q.x * cos + q.y * sin, q.y * cos - q.x * sin);
	}
	own = warp_limits(own);
	if (lane == 0) {
		turned[warp] = own;
	}
	__syncthreads();
	if (warp != 0) {
		return;
	}
	upright = warp_limits(lane < WARPS ? limits[lane] : nothing());
	own = warp_limits(lane < WARPS ? turned[lane] : nothing());
	bool finite = !__any_sync(0xffffffff, lane < WARPS && wrong[lane] != 0);
	if (lane == 0) {
		double rotation = atan2(dy, dx);
		Next next = next_region(own, sin, cos, rotation);
		next.valid = next.valid && finite;
		at<Next>(places)[face] = next;
		record[PRESENCE] = (float)(1 / (1 + exp(-(double)logit)));
		reinterpret_cast<u32 *>(record)[FLAGS] = (finite ? FINITE : 0) | (next.valid ? HAS_NEXT : 0);
		record[BOX] = (float)upright.x0, record[BOX + 1] = (float)upright.y0;
		record[BOX + 2] = (float)(upright.x1 - upright.x0), record[BOX + 3] = (float)(upright.y1 - upright.y0);
		record[NEXT] = (float)next.cx, record[NEXT + 1] = (float)next.cy, record[NEXT + 2] = (float)next.size, record[NEXT + 3] = (float)rotation;
	}
}
EMULATED(points);
