// Stream capture and graphs: a list of work that is queued again and again.
#include "fake.h"

#include <stdlib.h>

struct CUgraphExec_st {
	struct object object;
	struct work_list list;
};

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
	}
	pthread_mutex_unlock(&s->mutex);
	if (code && g) {
		object_drop(g);
	}
	object_drop(s);
	return code;
}

API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
	CUstream s;
	CUresult code = graph ? stream_hold(stream, &s) : CUDA_ERROR_INVALID_VALUE;
	if (code) {
		return code;
	}
	pthread_mutex_lock(&s->mutex);
	CUgraph g = s->capture;
	bool broken = s->broken;
	s->capture = NULL;
	s->broken = false;
	pthread_mutex_unlock(&s->mutex);
	object_drop(s);
	*graph = NULL;
	if (!g) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (broken) {
		object_drop(g);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	object_add(g, GRAPH, g->object.context, graph_free);
	*graph = g;
	return CUDA_SUCCESS;
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
