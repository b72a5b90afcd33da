//go:build xnnpack

// The vector kernels for each instruction set, and the choice between them.

#include "native.h"

#include <math.h>
#include <string.h>

typedef struct {
  void (*add_pixels)(const ft_step *s, size_t first, size_t count);
  void (*norm_pixels)(const ft_step *s, size_t first, size_t count);
  void (*dw_span)(const ft_step *s, float *out, size_t y, size_t x, size_t end);
  void (*dw_pool)(const ft_step *s, size_t y, size_t x, size_t columns);
  void (*pool_span)(float *out, const float *row0, const float *row1, size_t count, size_t channels);
  void (*pw_region)(const ft_step *s, size_t y, size_t rows, size_t x, size_t columns);
  size_t lanes;
} kernels;

static const int lane_numbers[16] __attribute__((aligned(64))) = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define NAME(x) x##_base
#define LANES 4
#include "vector_kernels.h"
#undef NAME
#undef LANES

static const kernels base = {add_pixels_base, norm_pixels_base, dw_span_base, dw_pool_base, pool_span_base, pw_region_base, 4};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define NAME(x) x##_avx2
#define LANES 8
#include "vector_kernels.h"
#undef NAME
#undef LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#define NAME(x) x##_avx512
#define LANES 16
#include "vector_kernels.h"
#undef NAME
#undef LANES
#pragma GCC pop_options

static const kernels avx2 = {add_pixels_avx2, norm_pixels_avx2, dw_span_avx2, dw_pool_avx2, pool_span_avx2, pw_region_avx2, 8};
static const kernels avx512 = {add_pixels_avx512, norm_pixels_avx512, dw_span_avx512, dw_pool_avx512, pool_span_avx512, pw_region_avx512, 16};

static const kernels *best(size_t lanes) {
  const int has512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (lanes >= 16 && has512) return &avx512;
  if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
  return &base;
}

#else

static const kernels *best(size_t lanes) {
  (void)lanes;
  return &base;
}

#endif

static const kernels *chosen = &base;

size_t ft_choose_lanes(size_t most) {
  chosen = best(most);
  return chosen->lanes;
}

enum { PIXELS_PER_TASK = 256 };

static void add_task(void *step, size_t first, size_t count) { chosen->add_pixels(step, first, count); }

void ft_add_prelu(const ft_step *s) {
  pthreadpool_parallelize_1d_tile_1d(s->pool, add_task, (void *)s, s->dim[0], PIXELS_PER_TASK, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

static void norm_task(void *step, size_t first, size_t count) { chosen->norm_pixels(step, first, count); }

void ft_layer_norm(const ft_step *s) {
  pthreadpool_parallelize_1d_tile_1d(s->pool, norm_task, (void *)s, s->dim[0], PIXELS_PER_TASK, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

static void row_task(void *step, size_t row) {
  const ft_step *s = step;
  const size_t width = s->dim[FT_OUT_WIDTH];
  chosen->dw_span(s, s->out + row * width * s->dim[FT_CHANNELS], row, 0, width);
}

void ft_depthwise(const ft_step *s) {
  pthreadpool_parallelize_1d(s->pool, row_task, (void *)s, s->dim[FT_OUT_HEIGHT], PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

static void tile_task(void *step, size_t y, size_t x, size_t rows, size_t columns) { chosen->pw_region(step, y, rows, x, columns); }

void ft_pointwise(const ft_step *s, const float *input) {
  ft_step step = *s;
  if (s->from_caller) step.in[FT_INPUT] = input;
  pthreadpool_parallelize_2d_tile_2d(s->pool, tile_task, &step, s->dim[FT_OUT_HEIGHT], s->dim[FT_OUT_WIDTH],
                                     s->dim[FT_TILE_ROWS], s->dim[FT_TILE_COLUMNS], PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

static void pool_task(void *step, size_t row) {
  const ft_step *s = step;
  const size_t channels = s->dim[FT_CHANNELS], pitch = s->dim[FT_WIDTH] * channels, width = s->dim[FT_OUT_WIDTH];
  const float *in = s->in[FT_INPUT] + 2 * row * pitch;
  chosen->pool_span(s->out + row * width * channels, in, in + pitch, width, channels);
}

void ft_max_pool(const ft_step *s) {
  pthreadpool_parallelize_1d(s->pool, pool_task, (void *)s, s->dim[FT_OUT_HEIGHT], PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

static void depthwise_pool_task(void *step, size_t y, size_t x, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; r++) chosen->dw_pool(step, y + r, x, columns);
}

void ft_depthwise_pool(const ft_step *s) {
  pthreadpool_parallelize_2d_tile_2d(s->pool, depthwise_pool_task, (void *)s, s->dim[FT_OUT_HEIGHT], s->dim[FT_OUT_WIDTH],
                                     s->dim[FT_TILE_ROWS], s->dim[FT_TILE_COLUMNS], PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}
