// Modules: PTX is read for the names of its kernels, which run as their twins on the CPU.
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct CUmod_st {
	struct object object;
	char *text;
};

struct CUfunc_st {
	struct object object;
	CUmodule module; // only compared: the function may be held longer than its module
	const struct kernel *kernel;
	unsigned shared; // dynamic shared memory that launches may have
	const struct emulation *emulated; // a kernel without a twin, NULL if its source is not here either
};

static void module_free(struct object *o) {
	free(((CUmodule)o)->text);
	free(o);
}

static void function_free(struct object *o) { free(o); }

API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !module || !image) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (!strstr(image, ".version") || !strstr(image, ".target")) {
		return CUDA_ERROR_INVALID_IMAGE;
	}
	CUmodule m = calloc(1, sizeof *m);
	char *text = strdup(image);
	if (!m || !text) {
		free(m);
		free(text);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->text = text;
	object_add(m, MODULE, c, module_free);
	*module = m;
	return CUDA_SUCCESS;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
	(void)count, (void)options, (void)values; // they change how PTX is compiled
	return cuModuleLoadData(module, image);
}

// The functions of a module end with it.
API CUresult cuModuleUnload(CUmodule module) {
	CUcontext c;
	CUresult code = context_current(&c);
	CUmodule m = code ? NULL : object_take(module, MODULE);
	if (!m) {
		return code ? code : CUDA_ERROR_INVALID_HANDLE;
	}
	void *functions[512];
	int n = object_hold_all(m->object.context, FUNCTION, functions, 512);
	for (int i = 0; i < n; i++) {
		CUfunction f = functions[i];
		if (f->module == m && object_take(f, FUNCTION)) {
			object_drop(f);
		}
		object_drop(f);
	}
	object_drop(m);
	return CUDA_SUCCESS;
}

static bool has_entry(const char *text, const char *name) {
	size_t n = strlen(name);
	while ((text = strstr(text, ".entry"))) {
		text += strlen(".entry");
		text += strspn(text, " \t\n");
		if (n && !strncmp(text, name, n) && strchr(" \t\n(", text[n])) {
			return true;
		}
	}
	return false;
}

API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !function || !name) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	CUmodule m = object_hold(module, MODULE);
	if (!m) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	CUfunction f = has_entry(m->text, name) ? calloc(1, sizeof *f) : NULL;
	if (f) {
		f->module = m;
		f->kernel = kernel_named(name);
		f->shared = 48 << 10;
		f->emulated = f->kernel ? NULL : emulation_of(name);
		object_add(f, FUNCTION, c, function_free);
		*function = f;
	}
	object_drop(m);
	return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !value) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	CUfunction f = object_hold(function, FUNCTION);
	if (!f) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	object_drop(f);
	static const int values[] = {1024, 0, 0, 0, 32, 75, 90}; // threads, shared, constant and local bytes, registers, PTX, code
	if ((int)which < 0 || (size_t)which >= sizeof values / sizeof *values) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*value = values[(int)which];
	return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > MOST_SHARED) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	CUfunction f = object_hold(function, FUNCTION);
	if (!f) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	f->shared = value > 48 << 10 ? (unsigned)value : 48 << 10;
	object_drop(f);
	return CUDA_SUCCESS;
}

static bool possible(const unsigned grid[3], const unsigned block[3]) {
	for (int i = 0; i < 3; i++) {
		if (!grid[i] || !block[i] || (i && grid[i] > 65535) || block[i] > (i == 2 ? 64 : 1024)) {
			return false;
		}
	}
	return (uint64_t)block[0] * block[1] * block[2] <= 1024;
}

// Arguments are read at the call, each with the width that the kernel's declaration gives it.
static CUresult prepare(struct work *w, CUfunction f, void **parameters) {
	if (!f->kernel && !f->emulated) {
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	w->kernel = f->kernel;
	w->emulated = f->emulated;
	const size_t *width = NULL;
	int arguments = f->emulated ? emulation_arguments(f->emulated, &width) : f->kernel->arguments;
	for (int i = 0; i < arguments; i++) {
		if (!parameters || !parameters[i]) {
			return CUDA_ERROR_INVALID_VALUE;
		}
		memcpy(&w->argument[i], parameters[i], width ? width[i] : f->kernel->width[i]); // little endian
	}
	return f->kernel && !f->kernel->fits(w->grid, w->block, w->argument) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
	unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **parameters, void **extra) {
	const unsigned grid[3] = {gridX, gridY, gridZ}, block[3] = {blockX, blockY, blockZ};
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || extra || !possible(grid, block)) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	CUfunction f = object_hold(function, FUNCTION);
	if (!f) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	struct work w = {.kind = KERNEL, .grid = {gridX, gridY, gridZ}, .block = {blockX, blockY, blockZ}, .shared = shared};
	code = shared <= f->shared ? prepare(&w, f, parameters) : CUDA_ERROR_INVALID_VALUE;
	object_drop(f);
	return code ? code : stream_queue(stream, &w, false);
}
