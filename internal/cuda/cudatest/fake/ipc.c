// Handles for other processes, and what becomes of them there. The numbers of the errors are those that an H200 gave.
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x43414b46u

struct handle {
	uint32_t magic, process_id;
	uint64_t process, number, bytes;
	char gpu[16];
	uint32_t ordinal, is_event;
	uint64_t check;
};
_Static_assert(sizeof(struct handle) == 64 && sizeof(CUipcMemHandle) == 64 && sizeof(CUipcEventHandle) == 64, "size");

static uint64_t checksum(const struct handle *h) {
	uint64_t sum = 0xcbf29ce484222325;
	const unsigned char *byte = (const unsigned char *)h;
	for (size_t i = 0; i < offsetof(struct handle, check); i++) {
		sum = (sum ^ byte[i]) * 0x100000001b3;
	}
	return sum;
}

static struct handle make(CUcontext c, uint64_t process, uint64_t number, uint64_t bytes, bool is_event) {
	struct handle h = {.magic = MAGIC, .process_id = (uint32_t)getpid(), .process = process, .number = number,
		.bytes = bytes, .ordinal = (uint32_t)c->gpu, .is_event = is_event};
	CUuuid uuid = device_uuid(c->gpu);
	memcpy(h.gpu, &uuid, sizeof h.gpu);
	h.check = checksum(&h);
	return h;
}

static bool is_sound(const struct handle *h, bool is_event) {
	return h->magic == MAGIC && h->is_event == is_event && h->check == checksum(h);
}

// A process cannot open its own handle, nor one of a process with its own number in another PID namespace.
static bool is_own(const struct handle *h) {
	return h->process_id == (uint32_t)getpid() || h->process == memory_space.process || h->process == event_space.process;
}

API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !handle) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (config.mig || config.integrated) {
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	struct range *r = range_hold(address, 1);
	if (!r) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	code = r->kind == DEVICE && r->address == address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (!code) {
		struct handle h = make(r->context, r->process, r->number, r->size, false);
		memcpy(handle, &h, sizeof h);
	}
	range_drop(r);
	return code;
}

// May the current GPU reach memory of the one that the handle names?
static CUresult reach(CUcontext c, const struct handle *h, unsigned flags) {
	int gpu = device_of_uuid(h->gpu);
	if (gpu < 0) {
		return CUDA_ERROR_INVALID_DEVICE;
	}
	if (gpu == c->gpu) {
		return CUDA_SUCCESS;
	}
	if (!config.peer || !(flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) {
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	}
	__atomic_store_n(&c->peer[gpu], true, __ATOMIC_SEQ_CST);
	return CUDA_SUCCESS;
}

// The importer gets a name of its own for the file: the memory is in use until it lets go, whatever the exporter does.
static CUresult import(CUcontext c, const struct handle *h, struct range **range) {
	char theirs[64], ours[64];
	uint64_t number = next_number();
	range_file(theirs, h->process, h->number, (int)h->ordinal, ".mem");
	range_file(ours, memory_space.process, number, (int)h->ordinal, ".mem");
	if (linkat(memory_space.folder, theirs, memory_space.folder, ours, 0)) {
		return CUDA_ERROR_MAP_FAILED; // freed, or its process has ended
	}
	int file = openat(memory_space.folder, ours, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct range *r = file < 0 ? NULL : range_map(file, h->bytes, IMPORTED, c);
	if (file >= 0) {
		close(file);
	}
	if (!r) {
		unlinkat(memory_space.folder, ours, 0);
		return CUDA_ERROR_MAP_FAILED;
	}
	r->gpu = (int)h->ordinal;
	r->process = h->process;
	r->number = h->number;
	r->link = number;
	*range = r;
	return CUDA_SUCCESS;
}

static CUresult open_memory(CUdeviceptr *address, CUcontext c, const struct handle *h, unsigned flags) {
	static const struct handle zero;
	if (!memcmp(h, &zero, sizeof zero)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!is_sound(h, false)) {
		return CUDA_ERROR_ALREADY_MAPPED;
	}
	if (is_own(h)) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (config.mig || config.integrated) {
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	struct range *r = range_of_file(h->process, h->number, c);
	CUresult code = r ? CUDA_SUCCESS : reach(c, h, flags);
	if (!code && !r) {
		code = import(c, h, &r);
		if (!code) {
			range_publish(r);
		}
	}
	if (!code) {
		*address = r->address;
	}
	return code;
}

static pthread_mutex_t imports = PTHREAD_MUTEX_INITIALIZER; // two threads that open one handle get one mapping

API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !address || flags > CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct handle h;
	memcpy(&h, &handle, sizeof h);
	pthread_mutex_lock(&imports);
	code = open_memory(address, c, &h, flags);
	pthread_mutex_unlock(&imports);
	return code;
}

// Counted; the last close waits for the work of the context.
API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	struct range *r = range_hold(address, 1);
	if (!r) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (r->kind != IMPORTED || r->address != address) {
		range_drop(r);
		return CUDA_ERROR_INVALID_VALUE;
	}
	code = context_drain(r->context);
	pthread_mutex_lock(&imports);
	if (!code && --r->opened == 0 && range_forget(r)) {
		char name[64];
		range_file(name, memory_space.process, r->link, r->gpu, ".mem");
		unlinkat(memory_space.folder, name, 0);
	}
	pthread_mutex_unlock(&imports);
	range_drop(r);
	return code;
}

API CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !handle) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (config.mig) {
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	CUevent e = object_hold(event, EVENT);
	if (!e) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	if ((e->flags & CU_EVENT_INTERPROCESS) && !e->imported) {
		struct handle h = make(e->object.context, e->process, e->number, 0, true);
		memcpy(handle, &h, sizeof h);
	} else {
		code = CUDA_ERROR_INVALID_HANDLE;
	}
	object_drop(e);
	return code;
}

API CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !event) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	struct handle h;
	memcpy(&h, &handle, sizeof h);
	if (!is_sound(&h, true)) {
		return CUDA_ERROR_MAP_FAILED;
	}
	if (is_own(&h)) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	char name[64];
	range_file(name, h.process, h.number, 0, ".event");
	int file = openat(event_space.folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0) {
		return CUDA_ERROR_MAP_FAILED; // another folder, or the event is gone
	}
	struct mark *mark = mark_map(file);
	close(file);
	return event_new(event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, mark, h.process, h.number, true);
}
