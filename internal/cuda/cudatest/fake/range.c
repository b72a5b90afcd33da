// Ranges of memory that a context knows. Device memory is a file that is mapped twice: at the address that programs get,
// where the CPU can neither read nor write, as with a GPU, and at another one for the streams' threads.
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

static bool is_host(const struct range *r) { return r->kind == HOST || r->kind == REGISTERED; }

// The caller has the mutex.
static struct range *find(CUdeviceptr address, size_t size) {
	for (struct range *r = ranges; r; r = r->next) {
		if (address >= r->address && address - r->address <= r->size && size <= r->size - (address - r->address)) {
			return r;
		}
	}
	return NULL;
}

struct range *range_hold(CUdeviceptr address, size_t size) {
	pthread_mutex_lock(&mutex);
	struct range *r = find(address, size);
	if (r) {
		r->refs++;
	}
	pthread_mutex_unlock(&mutex);
	return r;
}

// Imports are found by what they are imports of, and counted.
struct range *range_of_file(uint64_t process, uint64_t number, CUcontext context) {
	pthread_mutex_lock(&mutex);
	struct range *r = ranges;
	while (r && !(r->kind == IMPORTED && r->process == process && r->number == number && r->context == context)) {
		r = r->next;
	}
	if (r) {
		r->opened++;
	}
	pthread_mutex_unlock(&mutex);
	return r;
}

bool range_is_host(const void *host, size_t size) {
	pthread_mutex_lock(&mutex);
	struct range *r = find((CUdeviceptr)(uintptr_t)host, size);
	bool yes = r && is_host(r);
	pthread_mutex_unlock(&mutex);
	return yes;
}

void range_publish(struct range *range) {
	pthread_mutex_lock(&mutex);
	range->known = true;
	range->next = ranges;
	ranges = range;
	pthread_mutex_unlock(&mutex);
}

// From now on nobody finds it; it goes when nobody holds it any more.
bool range_forget(struct range *range) {
	pthread_mutex_lock(&mutex);
	bool was = range->known;
	for (struct range **at = &ranges; was && *at; at = &(*at)->next) {
		if (*at == range) {
			*at = range->next;
			break;
		}
	}
	range->known = false;
	pthread_mutex_unlock(&mutex);
	if (was) {
		range_drop(range);
	}
	return was;
}

void range_file(char name[64], uint64_t process, uint64_t number, int gpu, const char *suffix) {
	snprintf(name, 64, "%016" PRIx64 "-%" PRIu64 "-%d%s", process, number, gpu, suffix);
}

static void range_end(struct range *r) {
	if (r->kind != REGISTERED) {
		munmap(r->bytes, r->mapped);
	}
	if (!is_host(r)) {
		munmap((void *)(uintptr_t)r->address, r->mapped);
	}
	free(r);
}

void range_drop(struct range *range) {
	pthread_mutex_lock(&mutex);
	bool last = --range->refs == 0;
	pthread_mutex_unlock(&mutex);
	if (last) {
		range_end(range);
	}
}

struct range *range_map(int file, size_t size, enum range_kind kind, CUcontext context) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (size + page - 1) / page * page;
	struct range *r = calloc(1, sizeof *r);
	void *bytes = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
	void *address = bytes;
	if (kind != HOST) {
		address = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (!r || bytes == MAP_FAILED || address == MAP_FAILED) {
		if (bytes != MAP_FAILED) {
			munmap(bytes, mapped);
		}
		if (kind != HOST && address != MAP_FAILED) {
			munmap(address, mapped);
		}
		free(r);
		return NULL;
	}
	*r = (struct range){.kind = kind, .address = (uintptr_t)address, .bytes = bytes, .size = size, .mapped = mapped,
		.gpu = context->gpu, .refs = 1, .opened = 1, .context = context};
	return r;
}

bool range_overlaps_host(CUdeviceptr address, size_t size) {
	pthread_mutex_lock(&mutex);
	struct range *r = ranges;
	while (r && !(is_host(r) && address < r->address + r->size && r->address < address + size)) {
		r = r->next;
	}
	pthread_mutex_unlock(&mutex);
	return r != NULL;
}

void ranges_end(CUcontext context) {
	for (;;) {
		pthread_mutex_lock(&mutex);
		struct range *r = ranges;
		while (r && r->context != context) {
			r = r->next;
		}
		if (r) {
			r->refs++;
		}
		pthread_mutex_unlock(&mutex);
		if (!r) {
			return;
		}
		if (!is_host(r)) {
			char name[64];
			range_file(name, memory_space.process, r->kind == IMPORTED ? r->link : r->number, r->gpu, ".mem");
			unlinkat(memory_space.folder, name, 0);
		}
		range_forget(r);
		range_drop(r);
	}
}
