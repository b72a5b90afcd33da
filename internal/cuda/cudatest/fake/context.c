// Primary contexts, one for each GPU, counted; and which of them is current on a thread.
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct CUctx_st contexts[MAX_DEVICES]; // by ordinal; never freed, so that an old pointer is recognised

static __thread CUcontext stack[32];
static __thread int depth;

static bool is_context(CUcontext c) { return c >= contexts && c < contexts + MAX_DEVICES; }

static bool alive(CUcontext c) {
	pthread_mutex_lock(&mutex);
	bool yes = is_context(c) && c->retained > 0;
	pthread_mutex_unlock(&mutex);
	return yes;
}

static CUresult checked(CUdevice device) {
	if (!config.ready) {
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	if (device < 0 || device >= config.visible) {
		return CUDA_ERROR_INVALID_DEVICE;
	}
	return config.gpu[device] == config.sick ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

// The test that makes the pipe knows when a thread is here, because opening it for writing succeeds then, and ends the wait.
static void wait_if_slow(CUdevice device) {
	char path[sizeof config.slow + 16], nothing[1];
	snprintf(path, sizeof path, "%s.%d", config.slow, config.gpu[device]);
	int pipe = config.slow[0] ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (pipe >= 0) {
		while (read(pipe, nothing, sizeof nothing) > 0) {
		}
		close(pipe);
	}
}

static CUresult begin(CUcontext c, CUdevice device) {
	config_read();
	if (config.compute_mode == CU_COMPUTEMODE_PROHIBITED) {
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	}
	c->ordinal = device;
	c->gpu = config.gpu[device];
	for (int i = 0; i < MAX_DEVICES; i++) {
		c->peer[i] = false;
	}
	return stream_new(&c->standard, c, 0, 0);
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
	CUresult code = checked(device);
	if (code || !context) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	wait_if_slow(device);
	CUcontext c = &contexts[device];
	pthread_mutex_lock(&mutex);
	while (c->ending) {
		pthread_cond_wait(&ended, &mutex);
	}
	code = c->retained ? CUDA_SUCCESS : begin(c, device);
	if (!code) {
		c->retained++;
		*context = c;
	}
	pthread_mutex_unlock(&mutex);
	return code;
}

// Everything of the context ends with it, after the work that was queued; for a stream that waits for ever, never.
static void end(CUcontext c) {
	context_drain(c);
	for (CUstream s; (s = object_hold_any(c, STREAM));) {
		stream_end(s);
		object_drop(s);
	}
	static const enum kind kinds[] = {EVENT, FUNCTION, MODULE, EXEC, GRAPH};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (void *o; (o = object_hold_any(c, kinds[i]));) {
			object_drop(object_take(o, kinds[i]));
			object_drop(o);
		}
	}
	ranges_end(c);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
	CUresult code = checked(device);
	if (code) {
		return code;
	}
	CUcontext c = &contexts[device];
	pthread_mutex_lock(&mutex);
	int left = c->retained ? c->retained-- : 0;
	c->ending = left == 1 || c->ending;
	pthread_mutex_unlock(&mutex);
	if (left == 1) {
		wait_if_slow(device);
		end(c);
		pthread_mutex_lock(&mutex);
		c->ending = false;
		pthread_cond_broadcast(&ended);
		pthread_mutex_unlock(&mutex);
	}
	return left ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
	CUresult code = checked(device);
	if (!code && alive(&contexts[device])) {
		end(&contexts[device]);
		code = stream_new(&contexts[device].standard, &contexts[device], 0, 0);
	}
	return code;
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
	(void)flags; // how threads wait makes no difference here
	return checked(device);
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
	CUresult code = checked(device);
	if (code || !flags || !active) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	*flags = 0;
	*active = alive(&contexts[device]);
	return CUDA_SUCCESS;
}

API CUresult cuCtxPushCurrent_v2(CUcontext context) {
	if (!alive(context)) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (depth == (int)(sizeof stack / sizeof *stack)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
	if (!depth) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	depth--;
	if (context) {
		*context = stack[depth];
	}
	return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext context) {
	if (context && !alive(context)) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (depth) {
		depth--;
	}
	return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext *context) {
	if (!config.ready) {
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	if (!context) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*context = depth ? stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult context_current(CUcontext *context) {
	if (!config.ready) {
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	if (!depth) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	*context = stack[depth - 1];
	return alive(*context) ? context_failed(*context) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void context_fail(CUcontext context, CUresult code) {
	int none = 0;
	__atomic_compare_exchange_n(&context->failed, &none, (int)code, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// A failure stays for the life of the process.
CUresult context_failed(CUcontext context) {
	if (config.fail[0] && !access(config.fail, F_OK)) {
		context_fail(context, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	return (CUresult)__atomic_load_n(&context->failed, __ATOMIC_SEQ_CST);
}

// Streams that were destroyed with work in them count as well.
CUresult context_drain(CUcontext context) {
	void *streams[512];
	int n = object_hold_all(context, STREAM, streams, 512);
	n += object_hold_all(context, ENDING_STREAM, streams + n, 512 - n);
	for (int i = 0; i < n; i++) {
		stream_sync(streams[i]);
		object_drop(streams[i]);
	}
	return context_failed(context);
}

API CUresult cuCtxGetDevice(CUdevice *device) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !device) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	*device = c->ordinal;
	return CUDA_SUCCESS;
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (!code && least) {
		*least = 0;
	}
	if (!code && greatest) {
		*greatest = -5;
	}
	return code;
}

API CUresult cuCtxSynchronize(void) {
	CUcontext c;
	CUresult code = context_current(&c);
	return code ? code : context_drain(c);
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || flags) {
		return code ? code : CUDA_ERROR_INVALID_VALUE;
	}
	if (!alive(peer)) {
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (peer == c) {
		return CUDA_ERROR_INVALID_DEVICE;
	}
	if (!config.peer) {
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	}
	if (__atomic_exchange_n(&c->peer[peer->gpu], true, __ATOMIC_SEQ_CST)) {
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	}
	return CUDA_SUCCESS;
}
