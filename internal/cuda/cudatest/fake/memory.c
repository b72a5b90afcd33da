// Allocations of device and of page-locked host memory: the calls.
#include "fake.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// New memory is not empty, as on a GPU, where it holds what somebody else left.
static struct range *device_range(size_t size, CUcontext context) {
	char name[64];
	uint64_t number = next_number();
	range_file(name, memory_space.process, number, context->gpu, ".mem");
	int file = openat(memory_space.folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0) {
		return NULL;
	}
	struct range *r = NULL;
	if (!posix_fallocate(file, 0, (off_t)size)) {
		r = range_map(file, size, DEVICE, context);
	}
	close(file);
	if (!r) {
		unlinkat(memory_space.folder, name, 0);
		return NULL;
	}
	r->process = memory_space.process;
	r->number = number;
	memset(r->bytes, 0xa5, size);
	return r;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !address || !bytes) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct range *r = NULL;
	space_lock(&memory_space);
	if (bytes <= config.memory && space_used(c->gpu) <= config.memory - bytes) {
		r = device_range(bytes, c);
	}
	space_unlock(&memory_space);
	if (!r) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range_publish(r);
	*address = r->address;
	return CUDA_SUCCESS;
}

// As the driver does, waits for all work that may use the memory.
static CUresult give_back(CUdeviceptr address, enum range_kind kind, CUresult unknown) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	struct range *r = range_hold(address, 1);
	if (!r) {
		return unknown;
	}
	if (r->address != address || r->kind != kind) {
		range_drop(r);
		return unknown;
	}
	code = context_drain(r->context);
	if (!code && !range_forget(r)) {
		code = unknown;
	}
	if (!code && kind == DEVICE) {
		char name[64];
		range_file(name, r->process, r->number, r->gpu, ".mem");
		unlinkat(memory_space.folder, name, 0);
	}
	range_drop(r);
	return code;
}

API CUresult cuMemFree_v2(CUdeviceptr address) { return give_back(address, DEVICE, CUDA_ERROR_INVALID_VALUE); }

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
	struct range *r = range_hold(address, 1);
	if (!r) {
		return CUDA_ERROR_NOT_FOUND;
	}
	if (base) {
		*base = r->address;
	}
	if (size) {
		*size = r->size;
	}
	range_drop(r);
	return CUDA_SUCCESS;
}

API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !free || !total) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	space_lock(&memory_space);
	uint64_t used = space_used(c->gpu);
	space_unlock(&memory_space);
	*total = config.memory;
	*free = used < config.memory ? config.memory - used : 0;
	return CUDA_SUCCESS;
}

API CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !host || !bytes || flags > 7) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct range *r = range_map(-1, bytes, HOST, c);
	if (!r) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range_publish(r);
	*host = r->bytes;
	return CUDA_SUCCESS;
}

API CUresult cuMemFreeHost(void *host) {
	return give_back((CUdeviceptr)(uintptr_t)host, HOST, CUDA_ERROR_INVALID_VALUE);
}

// Memory that is not mapped cannot be locked: msync says whether it is.
static bool is_mapped(void *host, size_t size) {
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)host / page * page;
	return !msync((void *)begin, (uintptr_t)host + size - begin, MS_ASYNC);
}

API CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !host || !bytes || flags > 15 || !is_mapped(host, bytes)) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (range_overlaps_host((CUdeviceptr)(uintptr_t)host, bytes)) {
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	struct range *r = calloc(1, sizeof *r);
	if (!r) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*r = (struct range){.kind = REGISTERED, .address = (uintptr_t)host, .bytes = host, .size = bytes, .gpu = c->gpu,
		.refs = 1, .context = c};
	range_publish(r);
	return CUDA_SUCCESS;
}

API CUresult cuMemHostUnregister(void *host) {
	return give_back((CUdeviceptr)(uintptr_t)host, REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags) {
	if (!address || flags || !range_is_host(host, 1)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*address = (CUdeviceptr)(uintptr_t)host; // one address space for host and device
	return CUDA_SUCCESS;
}
