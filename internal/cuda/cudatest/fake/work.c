// What a stream's thread does with a piece of work.
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE 65536

void work_append(struct work_list *list, struct work *work) {
	work->next = NULL;
	if (!list->first) {
		list->last = &list->first;
	}
	*list->last = work;
	list->last = &work->next;
}

struct work *work_first(struct work_list *list) {
	struct work *w = list->first;
	if (w) {
		list->first = w->next;
	}
	return w;
}

// Work holds its event: destroying an event does not take it from the work that is queued.
struct work *work_copy(const struct work *work) {
	struct work *w = malloc(sizeof *w);
	if (w) {
		*w = *work;
		if (w->event) {
			object_keep(w->event);
		}
	}
	return w;
}

void work_free(struct work *work) {
	if (work->event) {
		object_drop(work->event);
	}
	free(work);
}

static void sleep_until(uint64_t ns) {
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

// A slow copy is done bit by bit, so that a reader that does not wait sees an unfinished frame.
static void copy(char *to, const char *from, size_t bytes) {
	uint64_t rate = config.copy_ns, begin = rate ? now_ns() : 0;
	if (!rate) {
		memmove(to, from, bytes);
		return;
	}
	for (size_t done = 0; done < bytes;) {
		size_t n = bytes - done < PIECE ? bytes - done : PIECE;
		sleep_until(begin + (done + n) * rate / 1024);
		memmove(to + done, from + done, n);
		done += n;
	}
}

static char *at(struct range *r, CUdeviceptr address) { return r->bytes + (address - r->address); }

static void fill(char *to, const struct work *w) {
	if (w->width == 1) {
		memset(to, (int)w->value, w->bytes);
		return;
	}
	for (size_t i = 0; i < w->bytes; i += w->width) {
		memcpy(to + i, &w->value, w->width); // little endian
	}
}

// The bits of a wait's flags: 0 at least (cyclic), 1 equal, 2 and, 3 nor.
static bool reached(const struct work *w, const void *word) {
	uint64_t v = w->width == 8 ? __atomic_load_n((const uint64_t *)word, __ATOMIC_SEQ_CST)
				   : __atomic_load_n((const uint32_t *)word, __ATOMIC_SEQ_CST);
	switch (w->flags & 3) {
	case 0: return w->width == 8 ? (int64_t)(v - w->value) >= 0 : (int32_t)((uint32_t)v - (uint32_t)w->value) >= 0;
	case 1: return v == w->value;
	case 2: return (v & w->value) != 0;
	default: return w->width == 8 ? ~(v | w->value) != 0 : (uint32_t)~(v | w->value) != 0;
	}
}

static void write_word(const struct work *w, void *word) {
	if (w->width == 8) {
		__atomic_store_n((uint64_t *)word, w->value, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n((uint32_t *)word, (uint32_t)w->value, __ATOMIC_SEQ_CST);
	}
}

// As long as it takes, for ever if need be: like the driver, this does not ask whether whoever is to end the wait lives.
static CUresult wait_for(CUcontext context, const struct work *w, const void *word) {
	for (;;) {
		uint32_t seen = bell_value();
		if (word ? reached(w, word) : mark_done(w->event->mark, w->record)) {
			return CUDA_SUCCESS;
		}
		CUresult code = context_failed(context);
		if (code) {
			return code;
		}
		bell_wait(seen);
	}
}

// Work on one range of device memory.
static CUresult on_device(CUcontext context, const struct work *w, struct range *r) {
	char *here = at(r, w->to);
	switch (w->kind) {
	case UP: copy(here, w->host, w->bytes); return CUDA_SUCCESS;
	case DOWN: copy(w->host, here, w->bytes); return CUDA_SUCCESS;
	case FILL: fill(here, w); return CUDA_SUCCESS;
	case WRITE: write_word(w, here); return CUDA_SUCCESS;
	case WAIT: return wait_for(context, w, here);
	default: return CUDA_ERROR_UNKNOWN;
	}
}

static CUresult across(const struct work *w, struct range *to) {
	struct range *from = range_hold(w->from, w->bytes);
	if (!from) {
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	copy(at(to, w->to), at(from, w->from), w->bytes);
	range_drop(from);
	return CUDA_SUCCESS;
}

CUresult work_run(CUcontext context, const struct work *w) {
	switch (w->kind) {
	case RECORD: event_reached(w->event, w->record); return CUDA_SUCCESS;
	case WAIT_EVENT: return wait_for(context, w, NULL);
	case KERNEL: return w->emulated ? emulation_run(context, w) : w->kernel->run(context, w->argument);
	default: break;
	}
	struct range *r = range_hold(w->to, w->bytes);
	if (!r) {
		return CUDA_ERROR_ILLEGAL_ADDRESS; // freed since it was queued
	}
	CUresult code = w->kind == ACROSS ? across(w, r) : on_device(context, w, r);
	range_drop(r);
	return code;
}
