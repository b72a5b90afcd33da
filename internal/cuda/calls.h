//go:build cuda

#ifndef FACETRACK_CALLS_H
#define FACETRACK_CALLS_H

#include <cuda.h>

// Loads a driver library, fills every call from it and initialises it. Returns cuInit's status, or -1 when there is no
// such library or it is no driver; text (of size bytes) then says why. Calls that this driver does not have return
// CUDA_ERROR_NOT_SUPPORTED from then on.
int facetrack_cuda_load(const char *library, char *text, int size);

// cuLaunchKernel with count values of one word each; a kernel's parameter is the low bytes of its word.
CUresult facetrack_cuda_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			       unsigned bz, unsigned shared, CUstream stream, uint64_t *values, int count);

#endif
