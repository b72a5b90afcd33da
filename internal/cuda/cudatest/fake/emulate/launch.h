// Between the driver and the library of emulated kernels, which it loads ($FAKE_CUDA_KERNELS).
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emulated_kernel {
	const char *name;
	int arguments;
	size_t width[32]; // bytes of each argument
};

enum emulated_result { EMULATED_OK, EMULATED_NO_MEMORY, EMULATED_ILLEGAL_ADDRESS, EMULATED_STUCK };

struct emulated_launch {
	const struct emulated_kernel *kernel;
	unsigned grid[3], block[3], shared;
	uint64_t words[32];
	void *context;
	// The memory around an address, as the CPU reads it: from *first to before *end. NULL: there is none that the context reaches.
	char *(*reach)(void *context, uint64_t address, uint64_t *first, uint64_t *end);
};

__attribute__((visibility("default"))) const struct emulated_kernel *emulated_kernel(const char *name); // NULL: no such kernel
__attribute__((visibility("default"))) enum emulated_result emulated_run(const struct emulated_launch *launch);

#ifdef __cplusplus
}
#endif
