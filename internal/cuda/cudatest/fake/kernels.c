// Twins of the project's GPU kernels on the CPU. Frames are rows of bytes without gaps; each tile of 32 × 32 bytes has
// a 64-bit word of its own, lowest byte first.
#include "fake.h"

#include <string.h>
#include <time.h>

#define TILE 32

static uint64_t mix(uint64_t frame, uint64_t tile) {
	uint64_t z = frame * 0x9E3779B97F4A7C15u + tile + 1;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

// Memory of the kernel's own GPU, of one that it reaches, or of the host; anything else is an illegal access.
static char *reach(CUcontext c, CUdeviceptr address, size_t bytes, struct range **held) {
	struct range *r = range_hold(address, bytes);
	if (!r) {
		return NULL;
	}
	bool near = r->gpu == c->gpu || r->kind == HOST || r->kind == REGISTERED;
	if (!near && !__atomic_load_n(&c->peer[r->gpu], __ATOMIC_SEQ_CST)) {
		range_drop(r);
		return NULL;
	}
	*held = r;
	return r->bytes + (address - r->address);
}

struct frame { char *bytes; uint32_t row, rows; uint64_t number; };

// Calls for each tile with its bytes of one row; true when each of them returned true.
static bool tile(const struct frame *f, uint32_t x, uint32_t y, bool (*each)(char *, const char *, size_t)) {
	uint64_t word = mix(f->number, (uint64_t)(y / TILE) * ((f->row + TILE - 1) / TILE) + x / TILE);
	char line[TILE];
	for (int i = 0; i < TILE; i += 8) {
		memcpy(line + i, &word, 8);
	}
	size_t width = f->row - x < TILE ? f->row - x : TILE;
	bool all = true;
	for (uint32_t r = y; r < f->rows && r < y + TILE; r++) {
		all = each(f->bytes + (size_t)r * f->row + x, line, width) && all;
	}
	return all;
}

static uint32_t failing_tiles(const struct frame *f, bool (*each)(char *, const char *, size_t)) {
	uint32_t failing = 0;
	for (uint32_t y = 0; y < f->rows; y += TILE) {
		for (uint32_t x = 0; x < f->row; x += TILE) {
			failing += !tile(f, x, y, each);
		}
	}
	return failing;
}

static bool put(char *to, const char *line, size_t n) {
	memcpy(to, line, n);
	return true;
}

static bool same(char *at, const char *line, size_t n) { return !memcmp(at, line, n); }

// argument: frame, bytes of a row, rows, number
static CUresult stamp_tiles(CUcontext c, const uint64_t *a) {
	struct range *held;
	struct frame f = {reach(c, a[0], a[1] * a[2], &held), (uint32_t)a[1], (uint32_t)a[2], a[3]};
	if (!f.bytes) {
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	failing_tiles(&f, put);
	range_drop(held);
	return CUDA_SUCCESS;
}

static void pause_ns(uint64_t ns) {
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	nanosleep(&t, NULL);
}

static void check_passes(const struct frame *f, uint32_t *counter, uint64_t passes, uint64_t pause) {
	for (uint64_t pass = 0; pass < passes; pass++) {
		if (pass && pause) {
			pause_ns(pause);
		}
		uint32_t wrong = failing_tiles(f, same);
		if (wrong) {
			__atomic_add_fetch(counter, wrong, __ATOMIC_SEQ_CST);
		}
	}
}

// argument: frame, bytes of a row, rows, number, counter, passes, pause in ns
static CUresult check_tiles(CUcontext c, const uint64_t *a) {
	struct range *frame, *word;
	struct frame f = {reach(c, a[0], a[1] * a[2], &frame), (uint32_t)a[1], (uint32_t)a[2], a[3]};
	if (!f.bytes) {
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	char *counter = a[4] % 4 ? NULL : reach(c, a[4], 4, &word);
	if (counter) {
		check_passes(&f, (uint32_t *)(void *)counter, a[5], a[6]);
		range_drop(word);
	}
	range_drop(frame);
	return counter ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

// argument: cell, out
static CUresult read_canary(CUcontext c, const uint64_t *a) {
	struct range *cell, *out;
	char *from = a[0] % 8 ? NULL : reach(c, a[0], 64, &cell);
	if (!from) {
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	char *to = a[1] % 8 ? NULL : reach(c, a[1], 64, &out);
	if (to) {
		memmove(to, from, 64);
		range_drop(out);
	}
	range_drop(cell);
	return to ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

// A block of 32 × 8 threads has 512 bytes of 32 rows; on a GPU, a grid of another size does another frame.
static bool tiles_fit(const unsigned grid[3], const unsigned block[3], const uint64_t *a) {
	return block[0] == 32 && block[1] == 8 && block[2] == 1 && grid[0] == (a[1] + 511) / 512 &&
	       grid[1] == (a[2] + TILE - 1) / TILE && grid[2] == 1;
}

static bool canary_fits(const unsigned grid[3], const unsigned block[3], const uint64_t *a) {
	(void)a;
	return block[0] == 8 && block[1] == 1 && block[2] == 1 && grid[0] == 1 && grid[1] == 1 && grid[2] == 1;
}

static const struct kernel kernels[] = {
	{"stamp_tiles", 4, {8, 4, 4, 8}, tiles_fit, stamp_tiles},
	{"check_tiles", 7, {8, 4, 4, 8, 8, 4, 4}, tiles_fit, check_tiles},
	{"read_canary", 2, {8, 8}, canary_fits, read_canary},
};

const struct kernel *kernel_named(const char *name) {
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		if (!strcmp(kernels[i].name, name)) {
			return &kernels[i];
		}
	}
	return NULL;
}
