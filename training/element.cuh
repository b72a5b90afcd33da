// What CUDA sources of this folder share: functions for both sides, and elements of float32 or bfloat16.
#pragma once
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define BOTH __host__ __device__ static inline
#else
#define BOTH static inline
#endif

BOTH float load(const float *p, int64_t i) { return p[i]; }
BOTH float load(const uint16_t *p, int64_t i) {
  uint32_t bits = (uint32_t)p[i] << 16;
  float v;
  memcpy(&v, &bits, 4);
  return v;
}
BOTH void store(float *p, int64_t i, float v) { p[i] = v; }
BOTH void store(uint16_t *p, int64_t i, float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  p[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
