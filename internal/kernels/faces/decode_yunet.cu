// candidates of a YuNet: one prior for each cell of the grids of strides 8, 16 and 32, one thread a prior
#include "candidate.cuh"

struct Level {
	u64 cls, obj, box, kps;
	u32 stride, cols;
};

__device__ static inline double extent(float log, double stride) { return exp(fmin((double)log, 12.0)) * stride; }

__device__ static inline void write_face(double *to, const Level &l, u32 cell, float4 box, const float2 *kps) {
	double stride = l.stride, col = cell % l.cols, row = cell / l.cols;
	double w = extent(box.z, stride), h = extent(box.w, stride);
	to[0] = (col + box.x) * stride - w / 2;
	to[1] = (row + box.y) * stride - h / 2;
	to[2] = w;
	to[3] = h;
#pragma unroll
	for (int k = 0; k < 5; k++) {
		to[4 + 2 * k] = (col + kps[k].x) * stride;
		to[5 + 2 * k] = (row + kps[k].y) * stride;
	}
}

// decode_cell returns the score, and whether a value is not finite.
__device__ static double decode_cell(const Level &l, u32 frame, u32 cell, float square, double *to, bool &wrong) {
	u64 i = (u64)frame * l.cols * l.cols + cell;
	float cls = __ldg(at<const float>(l.cls) + i), obj = __ldg(at<const float>(l.obj) + i);
	float4 box = __ldg(at<const float4>(l.box) + i);
	float2 kps[5];
	wrong = infinite(cls) || infinite(obj) || infinite(box.x) || infinite(box.y) || infinite(box.z) || infinite(box.w);
#pragma unroll
	for (int k = 0; k < 5; k++) {
		kps[k] = __ldg(at<const float2>(l.kps) + 5 * i + k);
		wrong = wrong || infinite(kps[k].x) || infinite(kps[k].y);
	}
	float product = cls * obj;
	if (wrong || !(product >= square)) {
		return -1;
	}
	write_face(to, l, cell, box, kps);
	return fmin(1.0, sqrt((double)product));
}

extern "C" __global__ void __launch_bounds__(256)
decode_yunet(u64 cls8, u64 obj8, u64 box8, u64 kps8, u64 cls16, u64 obj16, u64 box16, u64 kps16, u64 cls32, u64 obj32, u64 box32, u64 kps32,
	u32 size, float square, u64 scores, u64 values, u64 flags, u32 priors) {
	Candidates c = {scores, values, flags, priors};
	u32 prior = blockIdx.x * blockDim.x + threadIdx.x, cell = prior, frame = blockIdx.y;
	Level l = {cls8, obj8, box8, kps8, 8, size / 8};
	if (cell >= l.cols * l.cols) {
		cell -= l.cols * l.cols;
		l = {cls16, obj16, box16, kps16, 16, size / 16};
		if (cell >= l.cols * l.cols) {
			cell -= l.cols * l.cols;
			l = {cls32, obj32, box32, kps32, 32, size / 32};
		}
	}
	bool wrong = false;
	if (prior < priors) {
		u64 i = slot(c, frame, prior);
		at<double>(scores)[i] = decode_cell(l, frame, cell, square, at<double>(values) + VALUES * i, wrong);
	}
	flag(c, frame, prior, wrong);
}
EMULATED(decode_yunet);
