// Normalisation over a batch, with a residual added and PReLU, forwards and backwards, of images [images][channels][plane].
// nvcc makes the GPU's library of it, a C++ compiler the CPU's (-x c++), for tests. Sums are float32, images float32 or bfloat16.
//
// Two passes over memory each way; PyTorch's own kernels give a channel to one block, which leaves most of a GPU idle with few channels.
#include <math.h>

#include "element.cuh"

struct Job {
  const void *x, *residual, *dy;  // residual may be null; dy only backwards
  void *y, *dx, *dresidual;
  const float *weight, *bias, *slope;  // of each channel; slope may be null: no PReLU
  float *mean, *inverse;               // of each channel; inverse of the standard deviation
  float *running_mean, *running_var;   // only forwards
  float *dweight, *dbias, *dslope;
  float *partial;  // [splits][channels][3]
  float *total;    // [channels][2], only backwards: means that every gradient lacks
  int images, channels, plane, half, splits;
  float momentum, epsilon;
};

// What is read and written for one element.
struct Element {
  float x, residual, dy;
  float y, dx, dresidual;
};

BOTH float value(const Job &j, const Element &e, int c) { return (e.x - j.mean[c]) * j.inverse[c] * j.weight[c] + j.bias[c] + e.residual; }

// The gradient before PReLU; z is what went into it.
BOTH float before(const Job &j, float dy, float z, int c) { return !j.slope || z > 0 ? dy : dy * j.slope[c]; }

// What an element adds to its channel's three sums.
template <bool BACK> BOTH void add(const Job &j, const Element &e, int c, float sum[3]) {
  if (!BACK) {
    sum[0] += e.x, sum[1] += e.x * e.x;
    return;
  }
  float z = value(j, e, c), g = before(j, e.dy, z, c);
  sum[0] += g, sum[1] += g * (e.x - j.mean[c]) * j.inverse[c];
  if (!(z > 0)) sum[2] += e.dy * z;
}

template <bool BACK> BOTH void apply(const Job &j, Element &e, int c) {
  float z = value(j, e, c);
  if (!BACK) {
    e.y = !j.slope || z > 0 ? z : z * j.slope[c];
    return;
  }
  e.dresidual = before(j, e.dy, z, c);
  e.dx = j.weight[c] * j.inverse[c] * (e.dresidual - j.total[2 * c] - (e.x - j.mean[c]) * j.inverse[c] * j.total[2 * c + 1]);
}

template <bool BACK> BOTH void finish(const Job &j, int c) {
  double sum[3] = {0, 0, 0}, n = (double)j.images * j.plane;
  for (int s = 0; s < j.splits; s++)
    for (int k = 0; k < 3; k++) sum[k] += j.partial[((int64_t)s * j.channels + c) * 3 + k];
  if (BACK) {
    j.dbias[c] = (float)sum[0], j.dweight[c] = (float)sum[1];
    if (j.dslope) j.dslope[c] = (float)sum[2];
    j.total[2 * c] = (float)(sum[0] / n), j.total[2 * c + 1] = (float)(sum[1] / n);
    return;
  }
  double mean = sum[0] / n, var = sum[1] / n - mean * mean;
  if (!(var > 0)) var = 0;
  j.mean[c] = (float)mean, j.inverse[c] = (float)(1 / sqrt(var + j.epsilon));
  double unbiased = n > 1 ? var * n / (n - 1) : var;
  j.running_mean[c] += j.momentum * ((float)mean - j.running_mean[c]);
  j.running_var[c] += j.momentum * ((float)unbiased - j.running_var[c]);
}

// Elements are taken V at a time, which lie side by side in a plane.
template <class T, int V> struct alignas(V * sizeof(T)) Pack { T v[V]; };

template <class T, int V> BOTH void read(const void *from, int pack, Element e[V], float Element::*field) {
  if (!from) {
    for (int k = 0; k < V; k++) e[k].*field = 0;
    return;
  }
  Pack<T, V> p = ((const Pack<T, V> *)from)[pack];
  for (int k = 0; k < V; k++) e[k].*field = load(p.v, k);
}
template <class T, int V> BOTH void write(void *to, int pack, const Element e[V], float Element::*field) {
  if (!to) return;
  Pack<T, V> p;
  for (int k = 0; k < V; k++) store(p.v, k, e[k].*field);
  ((Pack<T, V> *)to)[pack] = p;
}

template <class T, int V, bool BACK> BOTH void add_pack(const Job &j, int pack, int c, float sum[3]) {
  Element e[V];
  read<T, V>(j.x, pack, e, &Element::x);
  if (BACK) read<T, V>(j.residual, pack, e, &Element::residual), read<T, V>(j.dy, pack, e, &Element::dy);
  for (int k = 0; k < V; k++) add<BACK>(j, e[k], c, sum);
}
template <class T, int V, bool BACK> BOTH void apply_pack(const Job &j, int pack, int c) {
  Element e[V];
  read<T, V>(j.x, pack, e, &Element::x), read<T, V>(j.residual, pack, e, &Element::residual);
  if (BACK) read<T, V>(j.dy, pack, e, &Element::dy);
  for (int k = 0; k < V; k++) apply<BACK>(j, e[k], c);
  if (BACK)
    write<T, V>(j.dx, pack, e, &Element::dx), write<T, V>(j.dresidual, pack, e, &Element::dresidual);
  else
    write<T, V>(j.y, pack, e, &Element::y);
}

// Where pack i of the images split, split + splits, … lies for a channel whose planes have so many packs; how many there are.
BOTH int place(const Job &j, int c, int split, int i, int packs) {
  int image = split + i / packs * j.splits;
  return (image * j.channels + c) * packs + i % packs;
}
BOTH int share(const Job &j, int split, int packs) { return (j.images - split + j.splits - 1) / j.splits * packs; }

#ifdef __CUDACC__

template <class T, int V, bool BACK> __global__ void sum_all(Job j) {
  int c = blockIdx.x, split = blockIdx.y, packs = j.plane / V;
  float sum[3] = {0, 0, 0};
  int n = share(j, split, packs);
  for (int i = threadIdx.x; i < n; i += blockDim.x) add_pack<T, V, BACK>(j, place(j, c, split, i, packs), c, sum);
  __shared__ float shared[3][32];
  for (int k = 0; k < 3; k++) {
    for (int d = 16; d; d /= 2) sum[k] += __shfl_down_sync(~0u, sum[k], d);
    if (threadIdx.x % 32 == 0) shared[k][threadIdx.x / 32] = sum[k];
  }
  __syncthreads();
  if (threadIdx.x < 3) {
    float all = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) all += shared[threadIdx.x][w];
    j.partial[((int64_t)split * j.channels + c) * 3 + threadIdx.x] = all;
  }
}

template <bool BACK> __global__ void finish_all(Job j) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < j.channels) finish<BACK>(j, c);
}

template <class T, int V, bool BACK> __global__ void apply_all(Job j) {
  int packs = j.plane / V, n = j.images * j.channels * packs;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) apply_pack<T, V, BACK>(j, i, i / packs % j.channels);
}

template <class T, int V, bool BACK> static int run(Job j, void *stream) {
  cudaStream_t s = (cudaStream_t)stream;
  sum_all<T, V, BACK><<<dim3(j.channels, j.splits), 256, 0, s>>>(j);
  finish_all<BACK><<<(j.channels + 31) / 32, 32, 0, s>>>(j);
  int blocks = (j.images * j.channels * (j.plane / V) + 255) / 256;
  apply_all<T, V, BACK><<<blocks < 8192 ? blocks : 8192, 256, 0, s>>>(j);
  return (int)cudaGetLastError();
}

#else

template <class T, int V, bool BACK> static int run(Job j, void *) {
  int packs = j.plane / V;
  for (int c = 0; c < j.channels; c++) {
    for (int split = 0; split < j.splits; split++) {
      float sum[3] = {0, 0, 0};
      for (int i = 0; i < share(j, split, packs); i++) add_pack<T, V, BACK>(j, place(j, c, split, i, packs), c, sum);
      memcpy(j.partial + ((int64_t)split * j.channels + c) * 3, sum, sizeof sum);
    }
    finish<BACK>(j, c);
  }
  for (int i = 0; i < j.images * j.channels * packs; i++) apply_pack<T, V, BACK>(j, i, i / packs % j.channels);
  return 0;
}

#endif

template <class T, bool BACK> static int dispatch(Job j, void *stream) {
  if ((int64_t)j.images * j.channels * j.plane > INT32_MAX) return -1;
  return j.plane % 4 ? run<T, 1, BACK>(j, stream) : run<T, 4, BACK>(j, stream);
}

extern "C" int facetrack_norm_forward(Job j, void *stream) { return j.half ? dispatch<uint16_t, false>(j, stream) : dispatch<float, false>(j, stream); }
extern "C" int facetrack_norm_backward(Job j, void *stream) { return j.half ? dispatch<uint16_t, true>(j, stream) : dispatch<float, true>(j, stream); }
