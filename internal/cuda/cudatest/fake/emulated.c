// Kernels whose own sources run on the CPU: libraries that $FAKE_CUDA_KERNELS lists are asked for kernels without a twin.
#include "fake.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES 8
#define HELD 64

struct emulation {
	const struct emulated_kernel *kernel;
	enum emulated_result (*run)(const struct emulated_launch *launch);
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct emulation known[512];
static int count;

// The caller has the mutex.
static const struct emulation *look_up(void *library, const char *name) {
	const struct emulated_kernel *(*find)(const char *) = (const struct emulated_kernel *(*)(const char *))dlsym(library, "emulated_kernel");
	const struct emulated_kernel *k = find ? find(name) : NULL;
	if (!k || count == sizeof known / sizeof *known) {
		return NULL;
	}
	known[count].kernel = k;
	known[count].run = (enum emulated_result (*)(const struct emulated_launch *))dlsym(library, "emulated_run");
	return known[count].run ? &known[count++] : NULL;
}

static const struct emulation *search(const char *name) {
	for (int i = 0; i < count; i++) {
		if (!strcmp(known[i].kernel->name, name)) {
			return &known[i];
		}
	}
	const char *list = getenv("FAKE_CUDA_KERNELS");
	char *paths = strdup(list ? list : ""), *rest = paths;
	const struct emulation *found = NULL;
	for (char *path; !found && paths && (path = strsep(&rest, ":"));) {
		void *library = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL; // stays open; opened again it is the same one
		found = library ? look_up(library, name) : NULL;
	}
	free(paths);
	return found;
}

const struct emulation *emulation_of(const char *name) {
	pthread_mutex_lock(&mutex);
	const struct emulation *e = search(name);
	pthread_mutex_unlock(&mutex);
	return e;
}

int emulation_arguments(const struct emulation *e, const size_t **width) {
	*width = e->kernel->width;
	return e->kernel->arguments;
}

struct run {
	CUcontext context;
	struct range *held[HELD]; // memory does not go away while a kernel works in it
	int count;
};

static char *reach(void *context, uint64_t address, uint64_t *first, uint64_t *end) {
	struct run *run = context;
	struct range *r = run->count < HELD ? range_hold(address, 1) : NULL;
	if (!r) {
		return NULL;
	}
	run->held[run->count++] = r;
	bool near = r->gpu == run->context->gpu || r->kind == HOST || r->kind == REGISTERED;
	if (!near && !__atomic_load_n(&run->context->peer[r->gpu], __ATOMIC_SEQ_CST)) {
		return NULL;
	}
	*first = r->address;
	*end = r->address + r->size;
	return r->bytes;
}

CUresult emulation_run(CUcontext context, const struct work *w) {
	struct run run = {.context = context};
	struct emulated_launch launch = {.kernel = w->emulated->kernel, .shared = w->shared, .context = &run, .reach = reach};
	memcpy(launch.grid, w->grid, sizeof launch.grid);
	memcpy(launch.block, w->block, sizeof launch.block);
	memcpy(launch.words, w->argument, sizeof launch.words);
	enum emulated_result result = w->emulated->run(&launch);
	for (int i = 0; i < run.count; i++) {
		range_drop(run.held[i]);
	}
	switch (result) {
	case EMULATED_OK: return CUDA_SUCCESS;
	case EMULATED_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
	case EMULATED_ILLEGAL_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
	default: return CUDA_ERROR_LAUNCH_FAILED;
	}
}
