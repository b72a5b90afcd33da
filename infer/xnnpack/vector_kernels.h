// Kernels over the channels of NHWC tensors, written once for any vector width. vector.c includes this file once
// for each instruction set, with NAME(x) giving the functions their suffix and LANES the floats of a vector.
//
// A channel count that is no multiple of LANES ends with a block that overlaps the one before it. That is why the
// kernels need at least LANES channels and an output apart from their inputs.

typedef float NAME(vec) __attribute__((vector_size(LANES * 4)));
typedef int NAME(bits) __attribute__((vector_size(LANES * 4)));
typedef float NAME(loose) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define VEC NAME(vec)
#define LOAD(p) ((VEC) * (const NAME(loose) *)(p))
#define STORE(p, v) (*(NAME(loose) *)(p) = (v))
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16") for

// leak is PReLU: slope 0 makes it ReLU, slope 1 nothing.
INLINE VEC NAME(leak)(VEC y, VEC slope) {
  VEC zero = {0}, scaled = slope * y;
  NAME(bits) positive = y > zero;
  return (VEC)(((NAME(bits))y & positive) | ((NAME(bits))scaled & ~positive));
}

// block moves the last block back so that it ends with the last channel.
INLINE size_t NAME(block)(size_t c, size_t channels) { return c + LANES <= channels ? c : channels - LANES; }

// add_pixel: out = leak(a + b), b having `added` of the channels. The channels without b come first: what their
// blocks overlap of the others is then overwritten.
INLINE void NAME(add_pixel)(const ft_step *s, size_t pixel) {
  const size_t channels = s->dim[1], added = s->dim[2];
  const float *a = s->in[0] + pixel * channels, *b = s->in[1] + pixel * added, *slope = s->in[2];
  float *out = s->out + pixel * channels;
  for (size_t i = added; i < channels; i += LANES) {
    size_t c = NAME(block)(i, channels);
    STORE(out + c, NAME(leak)(LOAD(a + c), LOAD(slope + c)));
  }
  for (size_t i = 0; i < added; i += LANES) {
    size_t c = NAME(block)(i, added);
    STORE(out + c, NAME(leak)(LOAD(a + c) + LOAD(b + c), LOAD(slope + c)));
  }
}

static void NAME(add_pixels)(const ft_step *s, size_t first, size_t count) {
  for (size_t p = first; p < first + count; p++) NAME(add_pixel)(s, p);
}

INLINE float NAME(sum)(VEC v) {
  float total = 0;
  for (size_t l = 0; l < LANES; l++) total += v[l];
  return total;
}

// norm_pixels: out = (x - mean) * factor / sqrt(variance + epsilon), over the channels of each pixel.
static void NAME(norm_pixels)(const ft_step *s, size_t first, size_t count) {
  const size_t channels = s->dim[1];
  const float share = 1.0f / (float)channels;
  for (size_t p = first; p < first + count; p++) {
    const float *in = s->in[0] + p * channels;
    VEC sum = {0}, squares = {0};
    for (size_t c = 0; c < channels; c += LANES) sum += LOAD(in + c);
    const float mean = NAME(sum)(sum) * share;
    for (size_t c = 0; c < channels; c += LANES) {
      VEC d = LOAD(in + c) - mean;
      squares += d * d;
    }
    const float scale = 1.0f / sqrtf(NAME(sum)(squares) * share + s->scale);
    for (size_t c = 0; c < channels; c += LANES) {
      STORE(s->out + p * channels + c, (LOAD(in + c) - mean) * (LOAD(s->in[2] + c) * scale));
    }
  }
}

enum { NAME(dw_pixels) = 4 };

// dw_edge computes an output pixel whose window may leave the row on either side.
INLINE VEC NAME(dw_edge)(const float *const row[3], const VEC w[9], VEC acc, ptrdiff_t x, ptrdiff_t width, size_t channels) {
  for (ptrdiff_t k = 0; k < 3; k++) {
    if (x + k < 0 || x + k >= width) continue;
    for (size_t r = 0; r < 3; r++) acc += LOAD(row[r] + (x + k) * (ptrdiff_t)channels) * w[3 * r + k];
  }
  return acc;
}

// dw_inner computes dw_pixels output pixels whose windows lie inside the row.
INLINE void NAME(dw_inner)(const float *const row[3], const VEC w[9], VEC bias, VEC slope, float *out, ptrdiff_t x,
                           size_t stride, size_t channels) {
  VEC acc[NAME(dw_pixels)];
  UNROLL (size_t j = 0; j < NAME(dw_pixels); j++) acc[j] = bias;
  UNROLL (size_t r = 0; r < 3; r++) {
    const float *in = row[r] + x * (ptrdiff_t)channels;
    UNROLL (size_t k = 0; k < 3; k++) {
      UNROLL (size_t j = 0; j < NAME(dw_pixels); j++) acc[j] += LOAD(in + (j * stride + k) * channels) * w[3 * r + k];
    }
  }
  UNROLL (size_t j = 0; j < NAME(dw_pixels); j++) STORE(out + j * channels, NAME(leak)(acc[j], slope));
}

// dw_line computes one block of channels, from c on, of output pixels [x, end) of a row.
INLINE void NAME(dw_line)(const ft_step *s, const float *const rows[3], float *out, size_t c, size_t x, size_t end, size_t stride) {
  const size_t channels = s->dim[FT_CHANNELS];
  const ptrdiff_t width = (ptrdiff_t)s->dim[FT_WIDTH];
  const float *end_of_filter = s->in[FT_DEPTH_FILTER] + 9 * channels;
  VEC w[9];
  UNROLL (size_t k = 0; k < 9; k++) w[k] = LOAD(s->in[FT_DEPTH_FILTER] + k * channels + c);
  const VEC bias = LOAD(end_of_filter + c), slope = LOAD(end_of_filter + channels + c);
  const float *const row[3] = {rows[0] + c, rows[1] + c, rows[2] + c};
  for (out += c; x < end;) {
    ptrdiff_t left = (ptrdiff_t)(x * stride) - (ptrdiff_t)s->dim[FT_PAD_LEFT];
    ptrdiff_t right = left + (ptrdiff_t)((NAME(dw_pixels) - 1) * stride) + 2;
    if (left >= 0 && right < width && x + NAME(dw_pixels) <= end) {
      NAME(dw_inner)(row, w, bias, slope, out, left, stride, channels);
      x += NAME(dw_pixels), out += NAME(dw_pixels) * channels;
    } else {
      STORE(out, NAME(leak)(NAME(dw_edge)(row, w, bias, left, width, channels), slope));
      x++, out += channels;
    }
  }
}

// dw_span computes output pixels [x, end) of row y.
static void NAME(dw_span)(const ft_step *s, float *out, size_t y, size_t x, size_t end) {
  const size_t channels = s->dim[FT_CHANNELS], stride = s->dim[FT_STRIDE], pitch = s->dim[FT_WIDTH] * channels;
  const float *row[3];
  for (size_t r = 0; r < 3; r++) {
    size_t at = y * stride + r - s->dim[FT_PAD_TOP];  // wraps to a huge number above the input
    row[r] = at < s->dim[FT_HEIGHT] ? s->in[FT_INPUT] + at * pitch : s->in[FT_ZEROS];
  }
  for (size_t i = 0; i < channels; i += LANES) {
    size_t c = NAME(block)(i, channels);
    if (stride == 1) {
      NAME(dw_line)(s, row, out, c, x, end, 1);
    } else {
      NAME(dw_line)(s, row, out, c, x, end, stride);
    }
  }
}

INLINE VEC NAME(larger)(VEC a, VEC b) {
  NAME(bits) m = a > b;
  return (VEC)(((NAME(bits))a & m) | ((NAME(bits))b & ~m));
}

// pool_span computes output pixels of the maximum over 2x2 windows, from two rows.
static void NAME(pool_span)(float *out, const float *row0, const float *row1, size_t count, size_t channels) {
  for (size_t p = 0; p < count; p++, row0 += 2 * channels, row1 += 2 * channels, out += channels) {
    for (size_t i = 0; i < channels; i += LANES) {
      size_t c = NAME(block)(i, channels);
      VEC top = NAME(larger)(LOAD(row0 + c), LOAD(row0 + channels + c));
      VEC bottom = NAME(larger)(LOAD(row1 + c), LOAD(row1 + channels + c));
      STORE(out + c, NAME(larger)(top, bottom));
    }
  }
}

// dw_pool computes pooled output pixels [x, x + columns) of row y.
static void NAME(dw_pool)(const ft_step *s, size_t y, size_t x, size_t columns) {
  const size_t channels = s->dim[FT_CHANNELS];
  float scratch[FT_SCRATCH] __attribute__((aligned(64)));
  float *second = scratch + 2 * columns * channels;
  NAME(dw_span)(s, scratch, 2 * y, 2 * x, 2 * (x + columns));
  NAME(dw_span)(s, second, 2 * y + 1, 2 * x, 2 * (x + columns));
  NAME(pool_span)(s->out + (y * s->dim[FT_OUT_WIDTH] + x) * channels, scratch, second, columns, channels);
}

// What a convolution reads: for each kernel row, `run` contiguous floats, `step` further on for the next pixel.
typedef struct {
  const float *row[FT_MAX_KERNEL];
  size_t rows, run, step;
} NAME(source);

enum { NAME(pw_pixels) = LANES == 16 ? 8 : 4 };

// pw_tile computes `pixels` output pixels from pixel p on, for `blocks` (1 or 2) blocks of channels.
INLINE void NAME(pw_tile)(const ft_step *s, const NAME(source) *src, size_t first, size_t p, size_t block, size_t pixels, size_t blocks) {
  const size_t channels = s->dim[FT_OUT_CHANNELS], added = s->dim[FT_RESIDUAL_CHANNELS], depth = src->rows * src->run;
  const float *end = s->in[FT_POINT_END], *w = s->in[FT_POINT_FILTER] + block * depth * LANES;
  size_t c[2];
  VEC acc[2][NAME(pw_pixels)];
  UNROLL (size_t b = 0; b < blocks; b++) {
    c[b] = NAME(block)((block + b) * LANES, channels);
    VEC bias = LOAD(end + c[b]);
    UNROLL (size_t j = 0; j < pixels; j++) acc[b][j] = bias;
  }
  for (size_t r = 0; r < src->rows; r++) {
    const float *low = src->row[r] + p * src->step, *high = low + 4 * src->step;  // two pointers: fewer registers
    for (size_t k = 0; k < src->run; k++, w += LANES, low++, high++) {
      VEC u[2];
      UNROLL (size_t b = 0; b < blocks; b++) u[b] = LOAD(w + b * depth * LANES);
      UNROLL (size_t j = 0; j < pixels; j++) {
        float x = j < 4 ? low[j * src->step] : high[(j - 4) * src->step];
        UNROLL (size_t b = 0; b < blocks; b++) acc[b][j] += u[b] * x;
      }
    }
  }
  float *out = s->out + (first + p) * channels;
  const float *residual = s->in[FT_RESIDUAL] + (first + p) * added;
  UNROLL (size_t b = 0; b < blocks; b++) {
    const VEC slope = LOAD(end + channels + c[b]);
    if (c[b] < added) {
      NAME(bits) inside = *(const NAME(bits) *)lane_numbers < (int)(added - c[b]);
      UNROLL (size_t j = 0; j < pixels; j++) {
        acc[b][j] += (VEC)((NAME(bits))LOAD(residual + j * added + c[b]) & inside);
      }
    }
    UNROLL (size_t j = 0; j < pixels; j++) STORE(out + j * channels + c[b], NAME(leak)(acc[b][j], slope));
  }
}

// pw_blocks computes `count` output pixels for one or two blocks of channels.
INLINE void NAME(pw_blocks)(const ft_step *s, const NAME(source) *src, size_t first, size_t count, size_t block, size_t blocks) {
  size_t p = 0;
  for (; p + NAME(pw_pixels) <= count; p += NAME(pw_pixels)) NAME(pw_tile)(s, src, first, p, block, NAME(pw_pixels), blocks);
  for (; p + 3 <= count; p += 3) NAME(pw_tile)(s, src, first, p, block, 3, blocks);
  for (; p < count; p++) NAME(pw_tile)(s, src, first, p, block, 1, blocks);
}

// gather copies the input rows of output pixels [x, end) of row y to scratch, with zeros where the window leaves the input.
static void NAME(gather)(const ft_step *s, NAME(source) *src, float *scratch, size_t y, size_t x, size_t end) {
  const size_t channels = s->dim[FT_CHANNELS], width = s->dim[FT_WIDTH], stride = s->dim[FT_STRIDE];
  const ptrdiff_t left = (ptrdiff_t)(x * stride) - (ptrdiff_t)s->dim[FT_PAD_LEFT];
  const ptrdiff_t right = left + (ptrdiff_t)((end - x - 1) * stride + s->dim[FT_KERNEL_WIDTH]);
  const ptrdiff_t from = left < 0 ? 0 : left, to = right > (ptrdiff_t)width ? (ptrdiff_t)width : right;
  const size_t pitch = (size_t)(right - left) * channels;
  *src = (NAME(source)){.rows = s->dim[FT_KERNEL_HEIGHT], .run = s->dim[FT_KERNEL_WIDTH] * channels, .step = stride * channels};
  const size_t before = (size_t)(from - left) * channels, inside = (size_t)(to - from) * channels;
  for (size_t r = 0; r < src->rows; r++, scratch += pitch) {
    src->row[r] = scratch;
    size_t at = y * stride + r - s->dim[FT_PAD_TOP];
    if (at >= s->dim[FT_HEIGHT]) {
      memset(scratch, 0, pitch * sizeof(float));
      continue;
    }
    memset(scratch, 0, before * sizeof(float));
    memcpy(scratch + before, s->in[FT_INPUT] + (at * width + (size_t)from) * channels, inside * sizeof(float));
    memset(scratch + before + inside, 0, (pitch - before - inside) * sizeof(float));
  }
}

// pw_region computes the tile of output rows [y, y + rows) and columns [x, x + columns).
static void NAME(pw_region)(const ft_step *s, size_t y, size_t rows, size_t x, size_t columns) {
  const size_t channels = s->dim[FT_CHANNELS], out_width = s->dim[FT_OUT_WIDTH], out_channels = s->dim[FT_OUT_CHANNELS];
  const size_t first = y * out_width + x, count = rows * columns;
  float scratch[FT_SCRATCH] __attribute__((aligned(64)));
  NAME(source) src = {.row = {scratch}, .rows = 1, .run = channels, .step = channels};
  if (s->in[FT_DEPTH_FILTER] != NULL) {
    for (size_t r = 0; r < rows; r++) NAME(dw_span)(s, scratch + r * columns * channels, y + r, x, x + columns);
  } else if (s->dim[FT_KERNEL_HEIGHT] * s->dim[FT_KERNEL_WIDTH] > 1) {
    NAME(gather)(s, &src, scratch, y, x, x + columns);
  } else {
    src.row[0] = s->in[FT_INPUT] + first * channels;
  }
  const size_t blocks = (out_channels + LANES - 1) / LANES;
  for (size_t b = 0; b + 2 <= blocks; b += 2) NAME(pw_blocks)(s, &src, first, count, b, 2);
  if (blocks % 2 == 1) NAME(pw_blocks)(s, &src, first, count, blocks - 1, 1);
}

#undef VEC
#undef LOAD
#undef STORE
#undef INLINE
#undef UNROLL
