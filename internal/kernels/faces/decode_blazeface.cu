// candidates of the BlazeFace short-range model: 896 anchors of unit size, one thread an anchor
#include "candidate.cuh"

#define CLIP 100.0 // of the logits

struct Anchor { // at the centre of a cell: two in each of 16 × 16 cells, then six in each of 8 × 8
	double x, y;
};

__device__ static inline Anchor anchor_of(u32 i) {
	u32 cell = i < 512 ? i / 2 : (i - 512) / 6, cols = i < 512 ? 16 : 8;
	double step = i < 512 ? 8 : 16;
	return {(cell % cols + 0.5) * step, (cell / cols + 0.5) * step};
}

__device__ static inline void write_face(double *to, Anchor a, const float4 (&v)[4]) {
	double w = fmax(0.0, (double)v[0].z), h = fmax(0.0, (double)v[0].w);
	to[0] = a.x + v[0].x - w / 2;
	to[1] = a.y + v[0].y - h / 2;
	to[2] = w;
	to[3] = h;
#pragma unroll
	for (int k = 1; k < 4; k++) {
		to[4 * k] = a.x + v[k].x;
		to[4 * k + 1] = a.y + v[k].y;
		to[4 * k + 2] = a.x + v[k].z;
		to[4 * k + 3] = a.y + v[k].w;
	}
}

extern "C" __global__ void __launch_bounds__(128)
decode_blazeface(u64 boxes, u64 classes, double threshold, u64 scores, u64 values, u64 flags, u32 priors) {
	Candidates c = {scores, values, flags, priors};
	u32 prior = blockIdx.x * blockDim.x + threadIdx.x, frame = blockIdx.y;
	bool wrong = false;
	if (prior < priors) {
		u64 i = slot(c, frame, prior);
		float logit = __ldg(at<const float>(classes) + i);
		float4 v[4];
		wrong = infinite(logit);
#pragma unroll
		for (int k = 0; k < 4; k++) {
			v[k] = __ldg(at<const float4>(boxes) + 4 * i + k);
			wrong = wrong || infinite(v[k].x) || infinite(v[k].y) || infinite(v[k].z) || infinite(v[k].w);
		}
		double score = 1 / (1 + exp(-fmax(-CLIP, fmin(CLIP, (double)logit))));
		bool passes = !wrong && score >= threshold;
		at<double>(scores)[i] = passes ? score : -1;
		if (passes) {
			write_face(at<double>(values) + VALUES * i, anchor_of(prior), v);
		}
	}
	flag(c, frame, prior, wrong);
}
EMULATED(decode_blazeface);
