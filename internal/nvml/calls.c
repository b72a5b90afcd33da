//go:build cuda

// The entry points of the management library. go-nvml calls them by name and leaves the names undefined in the program, which
// then cannot start where all names are bound at once (-z now, LD_BIND_NOW) and ends with the first call that an old
// driver lacks. So each name is one jump through a pointer, which leads to a function that returns an error until the
// library has been loaded.

#include "calls.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((used)) int facetrack_nvml_absent(void) { return 13; } // NVML_ERROR_FUNCTION_NOT_FOUND

#if defined(__x86_64__)
#define JUMP(pointer) "jmp *" pointer "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(pointer) "adrp x16, " pointer "\nldr x16, [x16, :lo12:" pointer "]\nbr x16\n"
#else
#error "the library's entry points are written for amd64 and arm64"
#endif

// Hidden: the library itself must not find these in place of its own.
#define ENTRY(name, pointer)                                                                                           \
	__asm__(".pushsection .data\n.balign 8\n.hidden " pointer "\n.globl " pointer "\n" pointer ":\n"                 \
		".quad facetrack_nvml_absent\n.popsection\n"                                                             \
		".pushsection .text\n.balign 16\n.hidden " name "\n.globl " name "\n.type " name ", %function\n" name    \
		":\n" JUMP(pointer) ".size " name ", .-" name "\n.popsection\n");

#define NVML_CALL(name)                                                                                                \
	ENTRY(#name, "facetrack_" #name)                                                                               \
	extern __attribute__((visibility("hidden"))) void *facetrack_##name;
#include "nvml_calls.h"
#undef NVML_CALL

static const struct {
	const char *name;
	void **pointer;
} calls[] = {
#define NVML_CALL(name) {#name, &facetrack_##name},
#include "nvml_calls.h"
#undef NVML_CALL
};

const char *facetrack_nvml_load(char *text, int size) {
	const char *name = getenv("FACETRACK_LIBNVML");
	if (!name || !*name)
		name = "libnvidia-ml.so.1";
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(text, size, "%s", dlerror());
		return NULL;
	}
	if (!dlsym(library, "nvmlInit_v2") || !dlsym(library, "nvmlErrorString")) {
		snprintf(text, size, "%s is no NVIDIA management library: it has no nvmlInit_v2", name);
		dlclose(library);
		return NULL;
	}
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		void *found = dlsym(library, calls[i].name);
		if (found)
			*calls[i].pointer = found;
	}
	return name;
}
