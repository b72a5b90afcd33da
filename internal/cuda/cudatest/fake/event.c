// Events. A record is a number, taken when it is queued and marked done when the stream gets there. An interprocess
// event has its marks in a file, so that another process can wait for the record that was the last one when it asked.
#include "fake.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

// The marks have places for more records than are ever under way at once.
bool mark_done(const struct mark *mark, uint64_t record) {
	return !record || __atomic_load_n(&mark->done[record % MARKS], __ATOMIC_SEQ_CST) >= record;
}

static uint64_t last_record(const struct mark *mark) { return __atomic_load_n(&mark->recorded, __ATOMIC_SEQ_CST); }

void event_reached(CUevent event, uint64_t record) {
	__atomic_store_n(&event->reached_ns, now_ns(), __ATOMIC_SEQ_CST);
	__atomic_store_n(&event->mark->done[record % MARKS], record, __ATOMIC_SEQ_CST);
}

struct mark *mark_map(int file) {
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return page == MAP_FAILED ? NULL : page;
}

static void event_free(struct object *o) {
	CUevent e = (CUevent)o;
	if (e->captured) {
		object_drop(e->captured);
	}
	if (e->flags & CU_EVENT_INTERPROCESS) {
		munmap(e->mark, PAGE);
	} else {
		free(e->mark);
	}
	free(e);
}

// Takes over the marks, also when it fails.
CUresult event_new(CUevent *event, unsigned flags, struct mark *mark, uint64_t process, uint64_t number, bool imported) {
	CUcontext c;
	CUresult code = context_current(&c);
	CUevent e = calloc(1, sizeof *e);
	if (!e || !mark) {
		code = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!e) {
		return code;
	}
	e->flags = flags;
	e->mark = mark;
	e->process = process;
	e->number = number;
	e->imported = imported;
	if (code) {
		if (mark) {
			event_free(&e->object);
		} else {
			free(e);
		}
		return code;
	}
	object_add(e, EVENT, c, event_free);
	*event = e;
	return CUDA_SUCCESS;
}

static CUresult interprocess(CUevent *event, unsigned flags) {
	char name[64];
	uint64_t number = next_number();
	range_file(name, event_space.process, number, 0, ".event");
	int file = openat(event_space.folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	struct mark *mark = posix_fallocate(file, 0, PAGE) ? NULL : mark_map(file);
	close(file);
	CUresult code = event_new(event, flags, mark, event_space.process, number, false);
	if (code) {
		unlinkat(event_space.folder, name, 0);
	}
	return code;
}

API CUresult cuEventCreate(CUevent *event, unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !event || flags > 7) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (!(flags & CU_EVENT_INTERPROCESS)) {
		return event_new(event, flags, calloc(1, sizeof(struct mark)), 0, 0, false);
	}
	if (!(flags & CU_EVENT_DISABLE_TIMING)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	return interprocess(event, flags);
}

// The event behind a handle, held.
static CUresult event_hold(CUevent handle, CUevent *event) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	*event = object_hold(handle, EVENT);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuEventDestroy_v2(CUevent event) {
	CUcontext c;
	CUresult code = context_current(&c);
	CUevent e = code ? NULL : object_take(event, EVENT);
	if (!e) {
		return code ? code : CUDA_ERROR_INVALID_HANDLE;
	}
	if ((e->flags & CU_EVENT_INTERPROCESS) && !e->imported) {
		char name[64];
		range_file(name, e->process, e->number, 0, ".event");
		unlinkat(event_space.folder, name, 0);
	}
	object_drop(e);
	return CUDA_SUCCESS;
}

// released forgets a captured record: the one that comes is none.
static void released(CUevent e) {
	CUgraph before = e->captured;
	e->captured = NULL;
	if (before) {
		object_drop(before);
	}
}

static CUresult queue(CUstream stream, CUevent e, enum work_kind kind) {
	CUstream s;
	CUresult code = stream_hold(stream, &s);
	if (code) {
		return code;
	}
	pthread_mutex_lock(&s->mutex);
	bool capturing = s->capture != NULL;
	pthread_mutex_unlock(&s->mutex);
	CUcontext c = s->object.context;
	if (capturing || (kind == WAIT_EVENT && e->captured)) {
		code = kind == RECORD ? capture_record(s, e) : capture_wait(s, e);
		object_drop(s);
		return code;
	}
	object_drop(s);
	struct work w = {.kind = kind, .event = e};
	if (kind == RECORD) {
		if (c != e->object.context) {
			return CUDA_ERROR_INVALID_HANDLE;
		}
		released(e);
		w.record = __atomic_add_fetch(&e->mark->recorded, 1, __ATOMIC_SEQ_CST);
	} else {
		w.record = last_record(e->mark);
	}
	return stream_queue(stream, &w, false);
}

API CUresult cuEventRecord(CUevent event, CUstream stream) {
	CUevent e;
	CUresult code = event_hold(event, &e);
	if (!code) {
		code = queue(stream, e, RECORD);
		object_drop(e);
	}
	return code;
}

API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
	CUevent e;
	CUresult code = flags > 1 ? CUDA_ERROR_INVALID_VALUE : event_hold(event, &e);
	if (!code) {
		code = queue(stream, e, WAIT_EVENT);
		object_drop(e);
	}
	return code;
}

API CUresult cuEventQuery(CUevent event) {
	CUevent e;
	CUresult code = event_hold(event, &e);
	if (!code) {
		code = mark_done(e->mark, last_record(e->mark)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
		object_drop(e);
	}
	return code;
}

API CUresult cuEventSynchronize(CUevent event) {
	CUevent e;
	CUresult code = event_hold(event, &e);
	if (code) {
		return code;
	}
	uint64_t record = last_record(e->mark);
	for (;;) {
		uint32_t seen = bell_value();
		code = context_failed(e->object.context);
		if (code || mark_done(e->mark, record)) {
			break;
		}
		bell_wait(seen);
	}
	object_drop(e);
	return code;
}

static CUresult elapsed(float *milliseconds, CUevent begin, CUevent end) {
	if ((begin->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !last_record(begin->mark) || !last_record(end->mark)) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	if (!mark_done(begin->mark, last_record(begin->mark)) || !mark_done(end->mark, last_record(end->mark))) {
		return CUDA_ERROR_NOT_READY;
	}
	uint64_t from = __atomic_load_n(&begin->reached_ns, __ATOMIC_SEQ_CST);
	uint64_t to = __atomic_load_n(&end->reached_ns, __ATOMIC_SEQ_CST);
	*milliseconds = (float)((double)(int64_t)(to - from) / 1e6);
	return CUDA_SUCCESS;
}

#undef cuEventElapsedTime // some headers give the name to the second version
API CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);
API CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
	CUevent a, b;
	CUresult code = milliseconds ? event_hold(begin, &a) : CUDA_ERROR_INVALID_VALUE;
	if (code) {
		return code;
	}
	code = event_hold(end, &b);
	if (!code) {
		code = elapsed(milliseconds, a, b);
		object_drop(b);
	}
	object_drop(a);
	return code;
}
