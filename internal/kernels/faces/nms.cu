// faces of a frame = its candidates, best first, without those that overlap a better one, or with each the mean of those it overlaps
#include "candidate.cuh"

#define MOST 1024 // candidates that are looked at: the best ones
#define THREADS MOST
#define WARPS (THREADS / 32)

struct Ranked {
	double score[MOST];
	u32 prior[MOST];
};

struct Mapping { // vision.Mapping
	double scale, x, y;
};

struct Box {
	double x, y, w, h;
};

// iou rounds every step, as vision does.
__device__ static inline double iou(const Box &a, const Box &b) {
	double w = __dadd_rn(fmin(__dadd_rn(a.x, a.w), __dadd_rn(b.x, b.w)), -fmax(a.x, b.x));
	double h = __dadd_rn(fmin(__dadd_rn(a.y, a.h), __dadd_rn(b.y, b.h)), -fmax(a.y, b.y));
	if (w <= 0 || h <= 0) {
		return 0;
	}
	double both = __dmul_rn(w, h);
	return both / __dadd_rn(__dadd_rn(__dmul_rn(a.w, a.h), __dmul_rn(b.w, b.h)), -both);
}

__device__ static inline bool better(double a, u32 i, double b, u32 k) { return a > b || (a == b && i < k); }

// gather collects the candidates above the threshold in any order, and returns how many there are; only MOST are kept.
__device__ static u32 gather(Ranked &found, u32 &count, const double *scores, u32 priors) {
	for (u32 p = threadIdx.x; p < priors; p += THREADS) {
		double score = __ldg(scores + p);
		if (score >= 0) {
			u32 i = atomicAdd(&count, 1u);
			if (i < MOST) {
				found.score[i] = score;
				found.prior[i] = p;
			}
		}
	}
	__syncthreads();
	return count;
}

// rank puts the candidates in order: each counts those that are better.
__device__ static void rank(Ranked &sorted, const Ranked &found, u32 n) {
	if (threadIdx.x < n) {
		double own = found.score[threadIdx.x];
		u32 prior = found.prior[threadIdx.x], before = 0;
		for (u32 i = 0; i < n; i++) {
			before += better(found.score[i], found.prior[i], own, prior);
		}
		sorted.score[before] = own;
		sorted.prior[before] = prior;
	}
}

// rank_all is rank for more candidates than are kept, slowly: it is not what a detector does.
__device__ static void rank_all(Ranked &sorted, const double *scores, u32 priors) {
	for (u32 p = threadIdx.x; p < priors; p += THREADS) {
		double own = scores[p];
		u32 before = 0;
		for (u32 i = 0; own >= 0 && before < MOST && i < priors; i++) {
			before += better(scores[i], i, own, p);
		}
		if (own >= 0 && before < MOST) {
			sorted.score[before] = own;
			sorted.prior[before] = p;
		}
	}
}

// first is the first of the bits in a word for each warp; MOST when there is none.
__device__ static inline u32 first(const u32 *words) {
	u32 word = words[threadIdx.x % 32];
	u32 warps = __ballot_sync(0xffffffff, word != 0);
	if (!warps) {
		return MOST;
	}
	u32 warp = __ffs((int)warps) - 1;
	return 32 * warp + __ffs((int)__shfl_sync(0xffffffff, word, (int)warp)) - 1;
}

// mapped is value i of a face, in pixels of the frame.
__device__ static inline float mapped(const Mapping &m, u32 i, double v) {
	if (i == 2 || i == 3) {
		return (float)(v * m.scale);
	}
	return (float)((v - (i % 2 ? m.y : m.x)) * m.scale);
}

__device__ static inline double warp_sum(double v) {
	for (int bits = 16; bits; bits /= 2) {
		v += __shfl_xor_sync(0xffffffff, v, bits);
	}
	return v;
}

// mean is value i of a group, weighted by the scores, by the whole warp.
__device__ static double mean(const Ranked &sorted, u32 n, const u32 *group, const double *values, u32 i) {
	double sum = 0, total = 0;
	for (u32 w = 0; 32 * w < n; w++) {
		if (group[w] >> threadIdx.x % 32 & 1) {
			u32 k = 32 * w + threadIdx.x % 32;
			total += sorted.score[k];
			sum += sorted.score[k] * values[(u64)VALUES * sorted.prior[k] + i];
		}
	}
	sum = warp_sum(sum);
	return sum / warp_sum(total);
}

struct Options {
	u32 merge, numbers, most; // numbers of a face in front of its score's place: box and key points
	double threshold;
};

// reduce writes the faces of a frame and returns how many there are.
__device__ static u32 reduce(const Ranked &sorted, u32 n, const double *values, const Options &o, const Mapping &map, float *faces) {
	__shared__ u32 words[2][WARPS], groups[2][WARPS];
	u32 own = threadIdx.x, warp = own / 32, turn = 0, kept = 0;
	bool alive = own < n;
	Box box = {};
	if (alive) {
		const double *v = values + (u64)VALUES * sorted.prior[own];
		box = {v[0], v[1], v[2], v[3]};
	}
	for (; kept < o.most; kept++, turn ^= 1) {
		u32 word = __ballot_sync(0xffffffff, alive);
		if (own % 32 == 0) {
			words[turn][warp] = word;
		}
		__syncthreads();
		u32 best = first(words[turn]);
		if (best == MOST) {
			break;
		}
		const double *v = values + (u64)VALUES * sorted.prior[best];
		bool covered = alive && (own == best || iou({v[0], v[1], v[2], v[3]}, box) > o.threshold);
		alive = alive && !covered;
		float *face = faces + kept * (o.numbers + 1);
		if (own == 0) {
			face[4] = (float)sorted.score[best];
		}
		if (!o.merge) {
			if (own < o.numbers) {
				face[own < 4 ? own : own + 1] = mapped(map, own, v[own]);
			}
			continue;
		}
		u32 group = __ballot_sync(0xffffffff, covered);
		if (own % 32 == 0) {
			groups[turn][warp] = group;
		}
		__syncthreads();
		if (warp < o.numbers) {
			double m = mean(sorted, n, groups[turn], values, warp);
			if (own % 32 == 0) {
				face[warp < 4 ? warp : warp + 1] = mapped(map, warp, m);
			}
		}
	}
	return kept;
}

extern "C" __global__ void __launch_bounds__(THREADS)
nms(u64 scores, u64 values, u64 flags, u32 priors, u32 merge, u32 numbers, u32 most, double threshold, u64 mappings, u32 mapping_bytes, u64 out, u32 out_bytes) {
	__shared__ Ranked found, sorted;
	__shared__ u32 count, wrong;
	u32 frame = blockIdx.x, groups = (priors + 31) / 32;
	if (threadIdx.x == 0) {
		count = wrong = 0;
	}
	__syncthreads();
	for (u32 i = threadIdx.x; i < groups; i += THREADS) {
		if (at<const u32>(flags)[frame * groups + i]) {
			wrong = 1;
		}
	}
	const double *own = at<const double>(scores) + (u64)frame * priors;
	u32 all = gather(found, count, own, priors), n = min(all, (u32)MOST);
	if (all > MOST) {
		rank_all(sorted, own, priors);
	} else {
		rank(sorted, found, n);
	}
	__syncthreads();
	u64 record = out + (u64)frame * out_bytes;
	Options o = {merge, numbers, most, threshold};
	Mapping m = *at<const Mapping>(mappings + (u64)frame * mapping_bytes);
	u32 kept = reduce(sorted, wrong ? 0 : n, at<const double>(values) + (u64)VALUES * frame * priors, o, m, at<float>(record) + 4);
	if (threadIdx.x == 0) {
		at<uint4>(record)[0] = make_uint4(kept, wrong, all, 0);
	}
}
EMULATED(nms);
