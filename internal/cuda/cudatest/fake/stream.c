// Streams: a queue and a thread that works through it. Every stream is as one made with CU_STREAM_NON_BLOCKING: none waits
// for the standard one, which is the stream of calls that name none.
#include "fake.h"

#include <signal.h>
#include <stdlib.h>

static void stream_free(struct object *o) {
	CUstream s = (CUstream)o;
	pthread_mutex_destroy(&s->mutex);
	pthread_cond_destroy(&s->changed);
	free(s);
}

static void pass(CUstream s, struct work *w) {
	CUcontext c = s->object.context;
	CUresult code = context_failed(c);
	if (!code) {
		code = work_run(c, w);
	}
	if (code) {
		context_fail(c, code); // what is still queued is not done
	}
	bell_ring();
}

static void *run(void *stream) {
	CUstream s = stream;
	pthread_mutex_lock(&s->mutex);
	for (;;) {
		while (!s->queue.first && !s->closing) {
			pthread_cond_wait(&s->changed, &s->mutex);
		}
		struct work *w = work_first(&s->queue);
		if (!w) {
			break;
		}
		pthread_mutex_unlock(&s->mutex);
		pass(s, w);
		work_free(w);
		pthread_mutex_lock(&s->mutex);
		s->done++;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->mutex);
	object_drop(object_take(s, ENDING_STREAM));
	object_drop(s);
	return NULL;
}

// The thread takes no signals: they belong to the program.
static bool start(CUstream s) {
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = !pthread_create(&thread, &attributes, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

CUresult stream_new(CUstream *stream, CUcontext context, unsigned flags, int priority) {
	CUstream s = calloc(1, sizeof *s);
	if (!s) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	s->flags = flags;
	s->priority = priority;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->changed, NULL);
	object_add(s, STREAM, context, stream_free);
	object_keep(s); // for the thread
	if (!start(s)) {
		object_drop(object_take(s, STREAM));
		object_drop(s);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*stream = s;
	return CUDA_SUCCESS;
}

// The handle is no longer known; what is queued is still done, and the thread ends behind it.
void stream_end(CUstream s) {
	if (!object_change(s, STREAM, ENDING_STREAM)) {
		return;
	}
	pthread_mutex_lock(&s->mutex);
	s->closing = true;
	CUgraph unfinished = s->capture;
	s->capture = NULL;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	if (unfinished) {
		object_drop(unfinished);
	}
}

CUresult stream_hold(CUstream handle, CUstream *stream) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	*stream = object_hold((uintptr_t)handle <= 2 ? c->standard : handle, STREAM); // 0, 1 and 2 are the standard one
	if (!*stream) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	if ((*stream)->object.context != c) {
		object_drop(*stream);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	return CUDA_SUCCESS;
}

// Waits until the stream has done as much as was queued at the time of the call.
CUresult stream_sync(CUstream s) {
	pthread_mutex_lock(&s->mutex);
	for (uint64_t target = s->queued; s->done < target;) {
		pthread_cond_wait(&s->changed, &s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return context_failed(s->object.context);
}

static CUresult push(CUstream s, struct work *w) {
	pthread_mutex_lock(&s->mutex);
	CUresult code = CUDA_SUCCESS;
	if (s->closing) {
		code = CUDA_ERROR_INVALID_HANDLE;
	} else if (s->capture) {
		work_append(&s->capture->list, w);
		capture_stray(s);
	} else {
		work_append(&s->queue, w);
		s->queued++;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->mutex);
	return code;
}

CUresult stream_queue(CUstream handle, const struct work *work, bool wait) {
	CUstream s;
	CUresult code = stream_hold(handle, &s);
	if (code) {
		return code;
	}
	struct work *w = work_copy(work);
	code = w ? push(s, w) : CUDA_ERROR_OUT_OF_MEMORY;
	if (code && w) {
		work_free(w);
	}
	if (!code && wait) {
		code = stream_sync(s);
	}
	object_drop(s);
	return code;
}

API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !stream || flags > CU_STREAM_NON_BLOCKING) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	return stream_new(stream, c, flags, priority);
}

API CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

API CUresult cuStreamDestroy_v2(CUstream stream) {
	CUstream s;
	CUresult code = (uintptr_t)stream <= 2 ? CUDA_ERROR_INVALID_HANDLE : stream_hold(stream, &s);
	if (!code) {
		stream_end(s);
		object_drop(s);
	}
	return code;
}

API CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
	CUstream s;
	CUresult code = flags ? stream_hold(stream, &s) : CUDA_ERROR_INVALID_VALUE;
	if (!code) {
		*flags = s->flags;
		object_drop(s);
	}
	return code;
}

API CUresult cuStreamGetPriority(CUstream stream, int *priority) {
	CUstream s;
	CUresult code = priority ? stream_hold(stream, &s) : CUDA_ERROR_INVALID_VALUE;
	if (!code) {
		*priority = s->priority;
		object_drop(s);
	}
	return code;
}

// A stream that captures does no work: asking for its state is an error that also breaks the capture.
static CUresult unless_capturing(CUstream s) {
	pthread_mutex_lock(&s->mutex);
	bool capturing = s->capture != NULL;
	s->broken |= capturing;
	pthread_mutex_unlock(&s->mutex);
	return capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream stream) {
	CUstream s;
	CUresult code = stream_hold(stream, &s);
	if (code) {
		return code;
	}
	code = unless_capturing(s);
	if (!code) {
		code = stream_sync(s);
	}
	object_drop(s);
	return code;
}

API CUresult cuStreamQuery(CUstream stream) {
	CUstream s;
	CUresult code = stream_hold(stream, &s);
	if (code) {
		return code;
	}
	code = unless_capturing(s);
	pthread_mutex_lock(&s->mutex);
	if (!code && s->done < s->queued) {
		code = CUDA_ERROR_NOT_READY;
	}
	pthread_mutex_unlock(&s->mutex);
	object_drop(s);
	return code;
}
