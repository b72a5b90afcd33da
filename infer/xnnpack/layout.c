//go:build xnnpack

// Operators that only move data.

#include "native.h"

#include <string.h>

enum { TILE = 16 };

// copy_plane writes out[r * pitch + c] = in[r * row + c * column] in tiles, so that neither side thrashes the cache.
static void copy_plane(float *out, size_t pitch, const float *in, size_t row, size_t column,
                                 size_t rows, size_t columns) {
  for (size_t r0 = 0; r0 < rows; r0 += TILE) {
    size_t r1 = r0 + TILE < rows ? r0 + TILE : rows;
    for (size_t c0 = 0; c0 < columns; c0 += TILE) {
      size_t c1 = c0 + TILE < columns ? c0 + TILE : columns;
      for (size_t r = r0; r < r1; r++)
        for (size_t c = c0; c < c1; c++) out[r * pitch + c] = in[r * row + c * column];
    }
  }
}

// ft_transpose walks the output in order: its last two axes as a plane, the others by counting.
void ft_transpose(const ft_step *s) {
  const size_t rank = s->dim[0];
  const size_t *extent = s->dim + 1, *stride = s->dim + 1 + FT_MAX_RANK;
  const size_t rows = extent[rank - 2], columns = extent[rank - 1];
  size_t index[FT_MAX_RANK] = {0};
  const float *in = s->in[0];
  float *out = s->out;
  for (;;) {
    copy_plane(out, columns, in, stride[rank - 2], stride[rank - 1], rows, columns);
    out += rows * columns;
    size_t axis = rank - 2;
    for (; axis > 0; axis--) {
      size_t a = axis - 1;
      in += stride[a];
      if (++index[a] < extent[a]) break;
      in -= stride[a] * extent[a];
      index[a] = 0;
    }
    if (axis == 0) return;
  }
}

void ft_concat(const ft_step *s) {
  const size_t outer = s->dim[0], run = s->dim[1], pitch = s->dim[2];
  for (size_t i = 0; i < outer; i++) memcpy(s->out + i * pitch, s->in[0] + i * run, run * sizeof(float));
}

// resize_row writes one output row: every input pixel `factor` times, plus what is added.
static void resize_row(float *restrict out, const float *restrict in, const float *restrict add,
                                 size_t width, size_t channels, size_t factor) {
  for (size_t x = 0; x < width; x++, in += channels) {
    for (size_t f = 0; f < factor; f++, out += channels) {
      if (add == NULL) {
        for (size_t c = 0; c < channels; c++) out[c] = in[c];
      } else {
        for (size_t c = 0; c < channels; c++) out[c] = in[c] + add[c];
        add += channels;
      }
    }
  }
}

void ft_resize(const ft_step *s) {
  const size_t height = s->dim[0], width = s->dim[1], channels = s->dim[2], fy = s->dim[3], fx = s->dim[4];
  const size_t row = width * fx * channels;
  for (size_t y = 0; y < height * fy; y++) {
    const float *add = s->in[1] == NULL ? NULL : s->in[1] + y * row;
    resize_row(s->out + y * row, s->in[0] + y / fy * width * channels, add, width, channels, fx);
  }
}
