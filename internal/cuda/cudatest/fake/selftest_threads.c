// Many threads that take, use and give back at the same time; for the thread sanitizer as well.
#include "selftest.h"

#include <string.h>

static CUcontext context;

static void *churn(void *seed) {
	OK(cuCtxSetCurrent(context));
	for (int round = 0; round < 100; round++) {
		int value = (int)(intptr_t)seed * 100 + round;
		CUstream a = new_stream(), b = new_stream();
		CUevent e;
		CUdeviceptr p;
		int *host;
		OK(cuEventCreate(&e, round % 2 ? CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING : 0));
		OK(cuMemAlloc_v2(&p, 4096));
		OK(cuMemHostAlloc((void **)&host, 8, 0));
		host[0] = value;
		host[1] = -1;
		OK(cuMemcpyHtoDAsync_v2(p, host, 4, a));
		OK(cuEventRecord(e, a));
		OK(cuStreamWaitEvent(b, e, 0));
		OK(cuEventDestroy_v2(e)); // the work keeps what it needs
		OK(cuMemcpyDtoHAsync_v2(host + 1, p, 4, b));
		OK(cuStreamDestroy_v2(a));
		OK(cuStreamSynchronize(b));
		EXPECT(host[1], value);
		OK(cuStreamDestroy_v2(b));
		OK(cuMemFree_v2(p));
		OK(cuMemFreeHost(host));
	}
	return NULL;
}

void test_threads(void) {
	pthread_t threads[4];
	context = open_device();
	for (intptr_t i = 0; i < 4; i++) {
		TRUE(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
	}
	for (int i = 0; i < 4; i++) {
		TRUE(pthread_join(threads[i], NULL) == 0);
	}
	size_t free, total;
	OK(cuMemGetInfo_v2(&free, &total));
	TRUE(free == total);
	OK(cuDevicePrimaryCtxRelease_v2(0));
}
