#pragma once
#include "portable.cuh"

// infinite tells that a value is infinite or not a number.
__device__ static inline bool infinite(float v) { return (__float_as_uint(v) & 0x7f800000) == 0x7f800000; }
