// Stream capture and graphs: a list of work that is queued again and again, in the order in which it was captured, also where several
// streams were captured together.
#include "fake.h"

#include <stdlib.h>

struct CUgraphExec_st {
	struct object object;
	struct work_list list;
};

static pthread_mutex_t captures = PTHREAD_MUTEX_INITIALIZER; // taken before a stream's

static void clear(struct work_list *list) {
	for (struct work *w; (w = work_first(list));) {
		work_free(w);
	}
}

static void graph_free(struct object *o) {
	clear(&((CUgraph)o)->list);
	free(o);
}

static void exec_free(struct object *o) {
	clear(&((CUgraphExec)o)->list);
	free(o);
}

// An unfinished capture is no handle yet.
API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
	CUstream s;
	CUresult code = (int)mode < 0 || (int)mode > 2 || (uintptr_t)stream <= 2 ? CUDA_ERROR_INVALID_VALUE
									       : stream_hold(stream, &s);
	if (code) {
		return code;
	}
	CUgraph g = calloc(1, sizeof *g);
	if (g) {
		g->object = (struct object){.refs = 1, .context = s->object.context, .end = graph_free};
	}
	pthread_mutex_lock(&s->mutex);
	if (!g) {
		code = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (s->capture) {
		code = CUDA_ERROR_INVALID_VALUE;
	} else {
		s->capture = g;
		s->broken = false;
		g->capturing = true;
	}
	pthread_mutex_unlock(&s->mutex);
	if (code && g) {
		object_drop(g);
	}
	object_drop(s);
	return code;
}

static int place(CUgraph g, CUstream s) {
	for (int i = 0; i < g->streams; i++) {
		if (g->joined[i].stream == s) {
			return i;
		}
	}
	return -1;
}

// A captured record makes no mark; streams that wait for it join the capture.
CUresult capture_record(CUstream s, CUevent e) {
	pthread_mutex_lock(&captures);
	CUgraph before = e->captured;
	e->captured = s->capture;
	e->by = s;
	object_keep(e->captured);
	pthread_mutex_unlock(&captures);
	if (before) {
		object_drop(before);
	}
	return CUDA_SUCCESS;
}

static CUresult join(CUgraph g, CUstream s) {
	if (g->streams == sizeof g->joined / sizeof *g->joined) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	object_keep(s);
	object_keep(g);
	g->joined[g->streams].stream = s;
	g->joined[g->streams++].astray = true;
	pthread_mutex_lock(&s->mutex);
	s->capture = g;
	s->broken = false;
	pthread_mutex_unlock(&s->mutex);
	return CUDA_SUCCESS;
}

// For an event that was recorded in a capture, or a stream that captures.
CUresult capture_wait(CUstream s, CUevent e) {
	pthread_mutex_lock(&captures);
	CUgraph g = e->captured;
	CUresult code = CUDA_SUCCESS;
	if (!g || !g->capturing || (s->capture && s->capture != g)) {
		s->broken = s->capture != NULL;
		code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (!s->capture) {
		code = join(g, s);
	} else if (place(g, e->by) >= 0) {
		g->joined[place(g, e->by)].astray = false;
	}
	pthread_mutex_unlock(&captures);
	return code;
}

void capture_stray(CUstream s) {
	int i = place(s->capture, s);
	if (i >= 0) {
		s->capture->joined[i].astray = true;
	}
}

// part lets the joined streams go, and tells whether one of them has work that nobody waited for.
static bool part(CUgraph g, bool *broken) {
	bool astray = false;
	pthread_mutex_lock(&captures);
	g->capturing = false;
	for (int i = 0; i < g->streams; i++) {
		CUstream s = g->joined[i].stream;
		astray |= g->joined[i].astray;
		pthread_mutex_lock(&s->mutex);
		bool still = s->capture == g;
		if (still) {
			*broken |= s->broken;
			s->capture = NULL;
		}
		pthread_mutex_unlock(&s->mutex);
		if (still) {
			object_drop(g);
		}
		object_drop(s);
	}
	g->streams = 0;
	pthread_mutex_unlock(&captures);
	return astray;
}

API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
	CUstream s;
	CUresult code = graph ? stream_hold(stream, &s) : CUDA_ERROR_INVALID_VALUE;
	if (code) {
		return code;
	}
	pthread_mutex_lock(&s->mutex);
	CUgraph g = s->capture;
	bool broken = s->broken, joined = g && place(g, s) >= 0;
	if (!joined) {
		s->capture = NULL;
		s->broken = false;
	}
	pthread_mutex_unlock(&s->mutex);
	object_drop(s);
	*graph = NULL;
	if (!g || joined) {
		return g ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED : CUDA_ERROR_INVALID_VALUE;
	}
	bool astray = part(g, &broken);
	if (broken || astray) {
		object_drop(g);
		return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	}
	CUgraph done = calloc(1, sizeof *done); // events go on holding the capture
	if (done) {
		done->list = g->list;
		g->list = (struct work_list){0};
		object_add(done, GRAPH, g->object.context, graph_free);
		*graph = done;
	}
	object_drop(g);
	return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool copy_list(struct work_list *to, const struct work_list *from) {
	for (const struct work *w = from->first; w; w = w->next) {
		struct work *again = work_copy(w);
		if (!again) {
			return false;
		}
		work_append(to, again);
	}
	return true;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !exec || flags > 15) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	CUgraph g = object_hold(graph, GRAPH);
	if (!g) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	CUgraphExec e = calloc(1, sizeof *e);
	if (!e) {
		object_drop(g);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	bool copied = copy_list(&e->list, &g->list);
	object_add(e, EXEC, c, exec_free);
	object_drop(g);
	if (!copied) {
		object_drop(object_take(e, EXEC));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*exec = e;
	return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	CUgraphExec e = object_hold(exec, EXEC);
	if (!e) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	for (const struct work *w = e->list.first; w && !code; w = w->next) {
		code = stream_queue(stream, w, false);
	}
	object_drop(e);
	return code;
}

static CUresult destroy(const void *handle, enum kind kind) {
	void *o = config.ready ? object_take(handle, kind) : NULL;
	if (!o) {
		return config.ready ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;
	}
	object_drop(o);
	return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(CUgraphExec exec) { return destroy(exec, EXEC); }
API CUresult cuGraphDestroy(CUgraph graph) { return destroy(graph, GRAPH); }
