// Depthwise 3×3 convolution, forwards and backwards, of images [images][channels][height][width] with stride 1 or 2 and padding 0 or 1.
// nvcc makes the GPU's library of it, a C++ compiler the CPU's (-x c++), for tests. Sums are float32, images float32 or bfloat16, weights float32.
//
// One thread makes ROW results side by side, so that what neighbours share is read once; PyTorch's kernels took half of a training step.
#include "element.cuh"

enum { ROW = 4 };

struct Job {
  const void *x, *dy;
  void *y, *dx;
  const float *weight;  // [channels][9]
  float *dweight;       // the same
  float *partial;       // [splits][channels][9]
  int images, channels, height, width, out_height, out_width, stride, padding, half, splits;
};

// A row of a plane, 0 outside.
template <class T> BOTH float at(const T *plane, int y, int x, int height, int width) {
  return y >= 0 && y < height && x >= 0 && x < width ? load(plane, (int64_t)y * width + x) : 0.0f;
}

// Result row y, columns from x on, of one plane.
template <class T, int S> BOTH void forward(const Job &j, int plane, int y, int x) {
  const T *from = (const T *)j.x + (int64_t)plane * j.height * j.width;
  T *to = (T *)j.y + ((int64_t)plane * j.out_height + y) * j.out_width;
  const float *w = j.weight + plane % j.channels * 9;
  float sum[ROW] = {0};
  for (int r = 0; r < 3; r++) {
    float v[S * (ROW - 1) + 3];
    for (int k = 0; k < S * (ROW - 1) + 3; k++) v[k] = at(from, y * S + r - j.padding, x * S + k - j.padding, j.height, j.width);
    for (int k = 0; k < ROW; k++)
      for (int c = 0; c < 3; c++) sum[k] += w[3 * r + c] * v[S * k + c];
  }
  for (int k = 0; k < ROW && x + k < j.out_width; k++) store(to, x + k, sum[k]);
}

// Gradient row y of the input, columns from x on: what each place gave to the results around it.
template <class T, int S> BOTH void back(const Job &j, int plane, int y, int x) {
  const T *from = (const T *)j.dy + (int64_t)plane * j.out_height * j.out_width;
  T *to = (T *)j.dx + ((int64_t)plane * j.height + y) * j.width;
  const float *w = j.weight + plane % j.channels * 9;
  for (int k = 0; k < ROW && x + k < j.width; k++) {
    float sum = 0;
    for (int r = 0; r < 3; r++) {
      int top = y + j.padding - r;
      if (S == 2 && (top & 1)) continue;
      for (int c = 0; c < 3; c++) {
        int left = x + k + j.padding - c;
        if (S == 2 && (left & 1)) continue;
        sum += w[3 * r + c] * at(from, top / S, left / S, top < 0 ? 0 : j.out_height, left < 0 ? 0 : j.out_width);
      }
    }
    store(to, x + k, sum);
  }
}

// What result row y, columns from x on, of a plane adds to the nine weights' gradients.
template <class T, int S> BOTH void add(const Job &j, int plane, int y, int x, float sum[9]) {
  const T *from = (const T *)j.x + (int64_t)plane * j.height * j.width;
  const T *dy = (const T *)j.dy + ((int64_t)plane * j.out_height + y) * j.out_width;
  float g[ROW];
  for (int k = 0; k < ROW; k++) g[k] = x + k < j.out_width ? load(dy, x + k) : 0.0f;
  for (int r = 0; r < 3; r++) {
    float v[S * (ROW - 1) + 3];
    for (int k = 0; k < S * (ROW - 1) + 3; k++) v[k] = at(from, y * S + r - j.padding, x * S + k - j.padding, j.height, j.width);
    for (int k = 0; k < ROW; k++)
      for (int c = 0; c < 3; c++) sum[3 * r + c] += g[k] * v[S * k + c];
  }
}

BOTH int steps(int width) { return (width + ROW - 1) / ROW; }
BOTH int share(const Job &j, int split) { return (j.images - split + j.splits - 1) / j.splits; }

// The i-th of the rows' parts of the images split, split + splits, … of a channel.
template <class T, int S> BOTH void add_part(const Job &j, int c, int split, int i, float sum[9]) {
  int across = steps(j.out_width), each = across * j.out_height, image = split + i / each * j.splits, rest = i % each;
  add<T, S>(j, image * j.channels + c, rest / across, rest % across * ROW, sum);
}

template <class T, int S, bool BACK> BOTH void part(const Job &j, int i) {
  int height = BACK ? j.height : j.out_height, across = steps(BACK ? j.width : j.out_width), each = across * height, rest = i % each;
  if (BACK)
    back<T, S>(j, i / each, rest / across, rest % across * ROW);
  else
    forward<T, S>(j, i / each, rest / across, rest % across * ROW);
}
template <bool BACK> BOTH int64_t parts(const Job &j) {
  return (int64_t)j.images * j.channels * (BACK ? j.height : j.out_height) * steps(BACK ? j.width : j.out_width);
}

BOTH void finish(const Job &j, int i) {
  double sum = 0;
  for (int s = 0; s < j.splits; s++) sum += j.partial[(int64_t)s * j.channels * 9 + i];
  j.dweight[i] = (float)sum;
}

#ifdef __CUDACC__

template <class T, int S, bool BACK> __global__ void part_all(Job j, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) part<T, S, BACK>(j, i);
}

template <class T, int S> __global__ void add_all(Job j) {
  int c = blockIdx.x, split = blockIdx.y, n = share(j, split) * steps(j.out_width) * j.out_height;
  float sum[9] = {0};
  for (int i = threadIdx.x; i < n; i += blockDim.x) add_part<T, S>(j, c, split, i, sum);
  __shared__ float shared[9][8];
  for (int k = 0; k < 9; k++) {
    for (int d = 16; d; d /= 2) sum[k] += __shfl_down_sync(~0u, sum[k], d);
    if (threadIdx.x % 32 == 0) shared[k][threadIdx.x / 32] = sum[k];
  }
  __syncthreads();
  if (threadIdx.x < 9) {
    float all = 0;
    for (int w = 0; w < 8; w++) all += shared[threadIdx.x][w];
    j.partial[((int64_t)split * j.channels + c) * 9 + threadIdx.x] = all;
  }
}

__global__ void finish_all(Job j) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < j.channels * 9) finish(j, i);
}

template <class T, int S, bool BACK> static int run(Job j, void *stream) {
  cudaStream_t s = (cudaStream_t)stream;
  int n = (int)parts<BACK>(j), blocks = (n + 255) / 256;
  part_all<T, S, BACK><<<blocks < 8192 ? blocks : 8192, 256, 0, s>>>(j, n);
  if (BACK) {
    add_all<T, S><<<dim3(j.channels, j.splits), 256, 0, s>>>(j);
    finish_all<<<(j.channels * 9 + 127) / 128, 128, 0, s>>>(j);
  }
  return (int)cudaGetLastError();
}

#else

template <class T, int S, bool BACK> static int run(Job j, void *) {
  for (int64_t i = 0; i < parts<BACK>(j); i++) part<T, S, BACK>(j, (int)i);
  if (!BACK) return 0;
  for (int c = 0; c < j.channels; c++)
    for (int split = 0; split < j.splits; split++) {
      float sum[9] = {0};
      for (int i = 0; i < share(j, split) * steps(j.out_width) * j.out_height; i++) add_part<T, S>(j, c, split, i, sum);
      memcpy(j.partial + ((int64_t)split * j.channels + c) * 9, sum, sizeof sum);
    }
  for (int i = 0; i < j.channels * 9; i++) finish(j, i);
  return 0;
}

#endif

template <bool BACK> static int dispatch(Job j, void *stream) {
  if (parts<BACK>(j) > INT32_MAX / 2 || j.stride < 1 || j.stride > 2) return -1;
  if (j.half) return j.stride == 1 ? run<uint16_t, 1, BACK>(j, stream) : run<uint16_t, 2, BACK>(j, stream);
  return j.stride == 1 ? run<float, 1, BACK>(j, stream) : run<float, 2, BACK>(j, stream);
}

extern "C" int facetrack_depth_forward(Job j, void *stream) { return dispatch<false>(j, stream); }
extern "C" int facetrack_depth_backward(Job j, void *stream) { return dispatch<true>(j, stream); }
