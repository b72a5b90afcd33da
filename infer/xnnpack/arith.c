//go:build xnnpack

// Arithmetic that XNNPACK lacks, or that it would do in several passes over memory.

#include "native.h"

#include <math.h>

enum { LANES = 16 };

// sum_run adds up a contiguous run in 16 partial sums.
static float sum_run(const float *in, size_t n) {
  float lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t j = 0; j < LANES; j++) lane[j] += in[i + j];
  for (size_t j = 0; i < n; i++, j++) lane[j] += in[i];
  float total = 0;
  for (size_t j = 0; j < LANES; j++) total += lane[j];
  return total;
}

static void sum_columns(float *restrict out, const float *restrict in, size_t rows, size_t columns, float scale) {
  for (size_t c = 0; c < columns; c++) out[c] = 0;
  for (size_t r = 0; r < rows; r++, in += columns)
    for (size_t c = 0; c < columns; c++) out[c] += in[c];
  for (size_t c = 0; c < columns; c++) out[c] *= scale;
}

void ft_reduce(const ft_step *s) {
  const size_t outer = s->dim[0], reduced = s->dim[1], inner = s->dim[2];
  for (size_t i = 0; i < outer; i++) {
    const float *in = s->in[0] + i * reduced * inner;
    if (inner == 1) {
      s->out[i] = sum_run(in, reduced) * s->scale;
    } else {
      sum_columns(s->out + i * inner, in, reduced, inner, s->scale);
    }
  }
}

void ft_rsqrt(const ft_step *s) {
  const float *in = s->in[0];
  float *out = s->out;
  for (size_t i = 0; i < s->dim[0]; i++) out[i] = 1.0f / sqrtf(in[i]);
}
