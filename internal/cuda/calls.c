//go:build cuda

// The entry points of the driver. gorgonia.org/cu and this package call cuMemAlloc_v2 and its siblings by name; each is
// one jump through a pointer, so that the program links without the driver and starts without it. A pointer leads to a
// function that returns a remembered status until facetrack_cuda_load has filled it from the driver.

#include "calls.h"
#include <dlfcn.h>
#include <stdio.h>

static CUresult remembered = CUDA_ERROR_NOT_INITIALIZED;
static CUresult (*init)(unsigned);

__attribute__((used)) CUresult facetrack_cuda_status(void) { return remembered; }

static CUresult absent(void) { return CUDA_ERROR_NOT_SUPPORTED; }

// gorgonia.org/cu calls cuInit when the program starts, and would end it on an error. Nothing is loaded then.
CUresult cuInit(unsigned flags) { return init ? init(flags) : CUDA_SUCCESS; }

#if defined(__x86_64__)
#define JUMP(pointer) "jmp *" pointer "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(pointer) "adrp x16, " pointer "\nldr x16, [x16, :lo12:" pointer "]\nbr x16\n"
#else
#error "the driver's entry points are written for amd64 and arm64"
#endif

// Hidden: a library that is loaded later, the driver among them, must not find these in place of the driver's own.
#define ENTRY(name, pointer)                                                                                           \
	__asm__(".pushsection .data\n.balign 8\n.hidden " pointer "\n.globl " pointer "\n" pointer ":\n"                 \
		".quad facetrack_cuda_status\n.popsection\n"                                                             \
		".pushsection .text\n.balign 16\n.hidden " name "\n.globl " name "\n.type " name ", %function\n" name    \
		":\n" JUMP(pointer) ".size " name ", .-" name "\n.popsection\n");

#define CUDA_CALL(name, arguments)                                                                                     \
	ENTRY(#name, "facetrack_" #name)                                                                               \
	extern __attribute__((visibility("hidden"))) void *facetrack_##name;
#include "cuda_calls.h"
#undef CUDA_CALL

static const struct {
	const char *name;
	void **pointer;
} calls[] = {
#define CUDA_CALL(name, arguments) {#name, &facetrack_##name},
#include "cuda_calls.h"
#undef CUDA_CALL
};

int facetrack_cuda_load(const char *library, char *text, int size) {
	void *driver = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!driver) {
		snprintf(text, size, "%s", dlerror());
		return -1;
	}
	init = (CUresult(*)(unsigned))dlsym(driver, "cuInit");
	if (!init) {
		snprintf(text, size, "%s is no CUDA driver: it has no cuInit", library);
		dlclose(driver);
		return -1;
	}
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		void *found = dlsym(driver, calls[i].name);
		*calls[i].pointer = found ? found : (void *)absent;
	}
	return remembered = init(0);
}

CUresult facetrack_cuda_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			       unsigned bz, unsigned shared, CUstream stream, uint64_t *values, int count) {
	void *pointers[count > 0 ? count : 1];
	for (int i = 0; i < count; i++)
		pointers[i] = values + i;
	return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, pointers, NULL);
}
