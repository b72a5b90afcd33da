//go:build xnnpack

#include "native.h"

#include <stdlib.h>
#include <string.h>

// Our own kernels read up to one vector behind a tensor, XNNPACK up to XNN_EXTRA_BYTES.
enum { FT_ALIGNMENT = 64, FT_SLACK = 64 };
_Static_assert((int)FT_SLACK >= (int)XNN_EXTRA_BYTES, "XNNPACK reads further than the slack");

float *ft_alloc(size_t floats) {
  size_t bytes = floats * sizeof(float) + FT_SLACK;
  bytes = (bytes + FT_ALIGNMENT - 1) / FT_ALIGNMENT * FT_ALIGNMENT;
  void *p = aligned_alloc(FT_ALIGNMENT, bytes);
  if (p != NULL) memset(p, 0, bytes);
  return p;
}

static enum xnn_status run_step(const ft_step *s, const float *input) {
  switch (s->kind) {
    case FT_RUNTIME: return xnn_invoke_runtime(s->runtime);
    case FT_TRANSPOSE: ft_transpose(s); return xnn_status_success;
    case FT_REDUCE: ft_reduce(s); return xnn_status_success;
    case FT_RSQRT: ft_rsqrt(s); return xnn_status_success;
    case FT_CONCAT: ft_concat(s); return xnn_status_success;
    case FT_RESIZE: ft_resize(s); return xnn_status_success;
    case FT_ADD_PRELU: ft_add_prelu(s); return xnn_status_success;
    case FT_LAYER_NORM: ft_layer_norm(s); return xnn_status_success;
    case FT_DEPTHWISE: ft_depthwise(s); return xnn_status_success;
    case FT_POINTWISE: ft_pointwise(s, input); return xnn_status_success;
    case FT_MAX_POOL: ft_max_pool(s); return xnn_status_success;
    case FT_DEPTHWISE_POOL: ft_depthwise_pool(s); return xnn_status_success;
  }
  return xnn_status_invalid_parameter;
}

static void nothing(void *context, size_t i) { (void)context, (void)i; }

enum xnn_status ft_run(const ft_step *steps, size_t count, const float *input, pthreadpool_t pool, size_t *failed) {
  enum xnn_status status = xnn_status_success;
  for (size_t i = 0; i < count && status == xnn_status_success; i++) {
    status = run_step(&steps[i], input);
    *failed = i;
  }
  if (pool != NULL) {
    pthreadpool_parallelize_1d(pool, nothing, NULL, pthreadpool_get_threads_count(pool), PTHREADPOOL_FLAG_YIELD_WORKERS);
  }
  return status;
}
