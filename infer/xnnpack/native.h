// The steps of a session: XNNPACK runtimes, and the operators that XNNPACK lacks or that are faster fused.
#ifndef FACETRACK_INFER_XNNPACK_NATIVE_H
#define FACETRACK_INFER_XNNPACK_NATIVE_H

#include <pthreadpool.h>
#include <stddef.h>
#include <xnnpack.h>

enum ft_kind {
  FT_RUNTIME,    // an XNNPACK operator
  FT_TRANSPOSE,  // any strided copy. dim: rank, output extents[6], input strides[6]
  FT_REDUCE,     // dim: outer, reduced, inner; scale: 1 or 1/reduced
  FT_RSQRT,      // dim: length
  FT_CONCAT,     // dim: outer, run, output pitch; one step for each input
  FT_RESIZE,     // dim: height, width, channels, factor y, factor x; in[1], if set, is added
  FT_ADD_PRELU,  // dim: pixels, channels, channels of in[1]; in[2]: slope
  FT_LAYER_NORM, // dim: pixels, channels (whole vectors); in[2]: factors; scale: epsilon
  FT_DEPTHWISE,  // dim: as ft_window_dim; in: as ft_window_in
  FT_POINTWISE,  // likewise, as the two below
  FT_MAX_POOL,
  FT_DEPTHWISE_POOL,
};

// A window operator is a 2x2 maximum at stride 2 (FT_MAX_POOL); a 3x3 depthwise convolution and PReLU (FT_DEPTHWISE),
// and the maximum behind it (FT_DEPTHWISE_POOL); or, as FT_POINTWISE, a convolution with
// in[FT_POINT_FILTER] that takes its input straight from the tensor or, when there is in[FT_DEPTH_FILTER], from the
// depthwise convolution before it; then in[FT_RESIDUAL], if there is one, is added, and PReLU done.
enum ft_window_in {
  FT_INPUT,
  FT_DEPTH_FILTER,  // filter [9][C], bias [C], slope [C]
  FT_ZEROS,         // a row of zeros
  FT_POINT_FILTER,  // for each block of lanes output channels: [kernel height * kernel width * C][lanes]
  FT_POINT_END,     // bias [O], slope [O]
  FT_RESIDUAL,
  FT_INS,
};

enum ft_window_dim {
  FT_HEIGHT, FT_WIDTH, FT_CHANNELS,
  FT_OUT_HEIGHT, FT_OUT_WIDTH, FT_OUT_CHANNELS,
  FT_KERNEL_HEIGHT, FT_KERNEL_WIDTH,  // of the convolution with in[FT_POINT_FILTER]
  FT_STRIDE, FT_PAD_TOP, FT_PAD_LEFT, // of the depthwise convolution, or else of the other
  FT_RESIDUAL_CHANNELS,
  FT_TILE_ROWS, FT_TILE_COLUMNS,      // output pixels done at a time: some rows, or a part of one row
  FT_WINDOW_DIMS,
};

enum { FT_MAX_RANK = 6, FT_DIMS = FT_WINDOW_DIMS };
_Static_assert((int)FT_DIMS >= 1 + 2 * (int)FT_MAX_RANK, "a transpose needs room for its extents and strides");

// FT_SCRATCH is the room, in floats, for what a tile keeps between its two convolutions: half of a first-level cache.
enum { FT_SCRATCH = 6144 };

typedef struct {
  enum ft_kind kind;
  xnn_runtime_t runtime;
  pthreadpool_t pool;
  const float *in[FT_INS];
  float *out;
  size_t dim[FT_DIMS];
  float scale;
  int from_caller;  // FT_POINTWISE: in[FT_INPUT] is what the caller of ft_run passes
} ft_step;

// ft_run executes the steps in order; no step keeps `input`. On failure it returns the status, and *failed is the
// step's index. At the end the pool's threads are sent to sleep: left alone they would spin until the next run.
enum xnn_status ft_run(const ft_step *steps, size_t count, const float *input, pthreadpool_t pool, size_t *failed);

// ft_alloc returns zeroed, 64-byte aligned memory with the slack behind it that XNNPACK may read; NULL when there is none.
float *ft_alloc(size_t floats);

void ft_transpose(const ft_step *s);
void ft_reduce(const ft_step *s);
void ft_rsqrt(const ft_step *s);
void ft_concat(const ft_step *s);
void ft_resize(const ft_step *s);
void ft_add_prelu(const ft_step *s);
void ft_layer_norm(const ft_step *s);
void ft_depthwise(const ft_step *s);
void ft_pointwise(const ft_step *s, const float *input);
void ft_max_pool(const ft_step *s);
void ft_depthwise_pool(const ft_step *s);

// ft_choose_lanes chooses the kernels with the widest vectors, of at most `most` floats, that the processor has, and
// returns that width. It must not be called while a session runs.
size_t ft_choose_lanes(size_t most);

// FT_MIN_CHANNELS is the fewest channels that the vector kernels take: the widest vector.
enum { FT_MIN_CHANNELS = 16, FT_MAX_KERNEL = 8 };

#endif
