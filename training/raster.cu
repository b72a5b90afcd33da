// Triangles of many images to z-buffers: which triangle each pixel shows, where in it, and how deep.
// nvcc makes the GPU's library of it, a C++ compiler the CPU's (-x c++); both give the same triangles.
//
// Corners are snapped to 1/256 pixel and edge functions are integers, so that neighbours leave no gap and share no pixel.
// Inverse depth is linear on the screen under perspective, depth under parallel light.
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define BOTH __host__ __device__ static inline
#else
#define BOTH static inline
#endif

typedef unsigned long long u64;
static const u64 EMPTY = ~0ull;

struct Job {
  const float *points;   // [images][vertices][3]: pixels right, pixels down, depth > 0
  const int *triangles;  // [faces][3], the same for all images
  int images, vertices, faces, height, width, perspective;
  u64 *keys;             // [images][height][width]
  int *ids;              // the same shape; -1 where nothing is
  float *weights;        // [images][2][height][width]: of the first and second corner
  float *depth;          // [images][height][width]; infinite where nothing is
};

struct Triangle {
  int64_t x[3], y[3];
  float z[3];
  int64_t area;
};

BOTH int64_t snap(float v) { return (int64_t)(v * 256.0f + (v < 0 ? -0.5f : 0.5f)); }

BOTH int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
BOTH int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

BOTH int64_t edge(const Triangle &t, int a, int b, int64_t px, int64_t py) {
  return (t.x[b] - t.x[a]) * (py - t.y[a]) - (t.y[b] - t.y[a]) * (px - t.x[a]);
}

// Pixels on an edge belong to the triangle on one side of it: upper and left edges own theirs.
BOTH int owns(const Triangle &t, int a, int b) {
  int64_t dx = t.x[b] - t.x[a], dy = t.y[b] - t.y[a];
  return dy < 0 || (dy == 0 && dx > 0);
}

BOTH void swap_corners(Triangle &t) {
  int64_t x = t.x[1], y = t.y[1];
  float z = t.z[1];
  t.x[1] = t.x[2], t.y[1] = t.y[2], t.z[1] = t.z[2];
  t.x[2] = x, t.y[2] = y, t.z[2] = z;
}

// False for what cannot be drawn: behind the camera, not a number, too far outside, without area.
BOTH bool load(const Job &j, int image, int face, Triangle &t, bool &swapped) {
  for (int c = 0; c < 3; c++) {
    const float *p = j.points + ((int64_t)image * j.vertices + j.triangles[3 * (int64_t)face + c]) * 3;
    if (!(p[2] > 1e-3f && p[2] < 1e9f && p[0] > -1e5f && p[0] < 1e5f && p[1] > -1e5f && p[1] < 1e5f)) return false;
    t.x[c] = snap(p[0]), t.y[c] = snap(p[1]), t.z[c] = p[2];
  }
  t.area = edge(t, 0, 1, t.x[2], t.y[2]);
  swapped = t.area < 0;
  if (swapped) swap_corners(t), t.area = -t.area;
  return t.area != 0;
}

// Weights of the corners at a pixel's centre; false outside.
BOTH bool inside(const Triangle &t, int64_t px, int64_t py, float w[3]) {
  for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    int64_t e = edge(t, a, b, px, py);
    if (e < 0 || (e == 0 && !owns(t, a, b))) return false;
    w[c] = (float)e / (float)t.area;
  }
  return true;
}

BOTH float depth_at(const Triangle &t, const float w[3], int perspective) {
  if (!perspective) return w[0] * t.z[0] + w[1] * t.z[1] + w[2] * t.z[2];
  return 1.0f / (w[0] / t.z[0] + w[1] / t.z[1] + w[2] / t.z[2]);
}

BOTH void keep(u64 *key, float depth, int face) {
  uint32_t bits;
  memcpy(&bits, &depth, 4);
  u64 value = (u64)bits << 32 | (uint32_t)face;
#ifdef __CUDA_ARCH__
  atomicMin(key, value);
#else
  if (value < *key) *key = value;
#endif
}

BOTH void draw(const Job &j, int image, int face) {
  Triangle t;
  bool swapped;
  if (!load(j, image, face, t, swapped)) return;
  int64_t left = most(0, (least(t.x[0], least(t.x[1], t.x[2])) - 128) >> 8), right = least(j.width - 1, (most(t.x[0], most(t.x[1], t.x[2])) + 128) >> 8);
  int64_t top = most(0, (least(t.y[0], least(t.y[1], t.y[2])) - 128) >> 8), bottom = least(j.height - 1, (most(t.y[0], most(t.y[1], t.y[2])) + 128) >> 8);
  float w[3];
  for (int64_t y = top; y <= bottom; y++)
    for (int64_t x = left; x <= right; x++)
      if (inside(t, x * 256 + 128, y * 256 + 128, w))
        keep(j.keys + ((int64_t)image * j.height + y) * j.width + x, depth_at(t, w, j.perspective), face);
}

// Reads a pixel's winner back, with weights that are linear on the surface.
BOTH void resolve(const Job &j, int image, int pixel) {
  int64_t size = (int64_t)j.height * j.width, at = image * size + pixel;
  float *weights = j.weights + 2 * image * size + pixel;
  u64 key = j.keys[at];
  j.ids[at] = key == EMPTY ? -1 : (int)(key & 0xffffffffu);
  weights[0] = weights[size] = 0;
  uint32_t bits = key == EMPTY ? 0x7f800000u : (uint32_t)(key >> 32);
  memcpy(j.depth + at, &bits, 4);
  if (key == EMPTY) return;
  Triangle t;
  bool swapped;
  float w[3];
  load(j, image, j.ids[at], t, swapped);
  inside(t, (int64_t)(pixel % j.width) * 256 + 128, (int64_t)(pixel / j.width) * 256 + 128, w);
  if (j.perspective)
    for (int c = 0; c < 3; c++) w[c] *= j.depth[at] / t.z[c];
  weights[0] = w[0];
  weights[size] = swapped ? w[2] : w[1];
}

#ifdef __CUDACC__

__global__ void clear_all(Job j, int64_t n) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) j.keys[i] = EMPTY;
}

__global__ void draw_all(Job j, int64_t n) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
    draw(j, (int)(i / j.faces), (int)(i % j.faces));
}

__global__ void resolve_all(Job j, int64_t n) {
  int64_t size = (int64_t)j.height * j.width;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
    resolve(j, (int)(i / size), (int)(i % size));
}

static int blocks(int64_t n) { return (int)least((n + 255) / 256, 1 << 16); }

extern "C" int facetrack_raster(Job j, void *stream) {
  cudaStream_t s = (cudaStream_t)stream;
  int64_t pixels = (int64_t)j.images * j.height * j.width, faces = (int64_t)j.images * j.faces;
  if (pixels == 0) return 0;
  clear_all<<<blocks(pixels), 256, 0, s>>>(j, pixels);
  if (faces > 0) draw_all<<<blocks(faces), 256, 0, s>>>(j, faces);
  resolve_all<<<blocks(pixels), 256, 0, s>>>(j, pixels);
  return (int)cudaGetLastError();
}

#else

extern "C" int facetrack_raster(Job j, void *) {
  int64_t size = (int64_t)j.height * j.width;
#pragma omp parallel for schedule(dynamic)
  for (int image = 0; image < j.images; image++) {
    for (int64_t i = 0; i < size; i++) j.keys[image * size + i] = EMPTY;
    for (int face = 0; face < j.faces; face++) draw(j, image, face);
    for (int64_t i = 0; i < size; i++) resolve(j, image, (int)i);
  }
  return 0;
}

#endif
