// What the detectors' kernels leave for nms: for each frame and prior a score, negative below the threshold, and where it is not,
// box and key points in pixels of the input; for each warp of priors whether it read anything that is not finite.
#pragma once
#include "finite.cuh"

#define VALUES 16 // x, y, width, height, and up to six key points

struct Candidates { // faces.Candidates
	u64 scores, values, flags;
	u32 priors; // of a frame
};

// flag is called by each thread of a warp.
__device__ static inline void flag(const Candidates &c, u32 frame, u32 prior, bool wrong) {
	u32 lanes = __ballot_sync(0xffffffff, wrong);
	if (prior % 32 == 0 && prior < c.priors) {
		at<u32>(c.flags)[frame * ((c.priors + 31) / 32) + prior / 32] = lanes;
	}
}

__device__ static inline u64 slot(const Candidates &c, u32 frame, u32 prior) { return (u64)frame * c.priors + prior; }
