// Self-test of the fake driver, in C because it needs nothing else: calls of one process. selftest_ipc.c has those of two.
#include "selftest.h"

#include <string.h>
#include <sys/mman.h>

CUcontext open_ordinal(CUdevice device) {
	CUcontext context;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	return context;
}

CUcontext open_device(void) { return open_ordinal(0); }

CUstream new_stream(void) {
	CUstream s;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void test_before_init(void) {
	int n;
	CUcontext c;
	size_t free, total;
	EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	EXPECT(cuDevicePrimaryCtxRetain(&c, 0), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	EXPECT(n, 1);
	EXPECT(cuMemGetInfo_v2(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuDevicePrimaryCtxRetain(&c, 1), CUDA_ERROR_INVALID_DEVICE);
}

static void test_wrong_handles(void) {
	CUdeviceptr p;
	CUstream s = new_stream();
	CUevent e;
	int nothing[64] = {0};
	EXPECT(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemAlloc_v2(&p, 1ull << 40), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemcpyHtoD_v2(12345, nothing, 8), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuStreamSynchronize((CUstream)nothing), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuEventQuery((CUevent)s), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventCreate(&e, 0));
	OK(cuEventQuery(e)); // never recorded: nothing to wait for
	OK(cuStreamWaitEvent(s, e, 0));
	OK(cuStreamSynchronize(s));
	OK(cuEventDestroy_v2(e));
	EXPECT(cuEventRecord(e, s), CUDA_ERROR_INVALID_HANDLE);
	OK(cuStreamDestroy_v2(s));
	EXPECT(cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
}

static void test_memory(void) {
	CUdeviceptr p;
	unsigned char back[1000];
	size_t before, during, after, total;
	OK(cuMemGetInfo_v2(&before, &total));
	OK(cuMemAlloc_v2(&p, 1000));
	OK(cuMemcpyDtoH_v2(back, p, 1000));
	TRUE(back[0] && back[999]); // memory that nobody has cleared
	OK(cuMemsetD8_v2(p, 7, 1000));
	OK(cuMemcpyDtoH_v2(back, p, 1000));
	TRUE(back[0] == 7 && back[999] == 7);
	EXPECT(cuMemcpyDtoH_v2(back, p + 1, 1000), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetInfo_v2(&during, &total));
	EXPECT(before - during, 1000);
	CUdeviceptr base;
	size_t size;
	OK(cuMemGetAddressRange_v2(&base, &size, p + 999));
	TRUE(base == p && size == 1000);
	EXPECT(cuMemGetAddressRange_v2(&base, &size, p + 1000), CUDA_ERROR_NOT_FOUND);
	EXPECT(cuMemFree_v2(p + 8), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree_v2(p));
	EXPECT(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetInfo_v2(&after, &total));
	TRUE(before == after);

	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(cuMemHostRegister_v2(map, 8192, 0));
	EXPECT(cuMemHostRegister_v2(map + 4096, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostUnregister(map));
	EXPECT(cuMemHostUnregister(map), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	munmap(map, 8192);
	EXPECT(cuMemHostRegister_v2(map, 8192, 0), CUDA_ERROR_INVALID_VALUE);
}

// The wait holds back what is queued behind it, in this stream and through the event in the other.
static void test_order(void) {
	CUstream a = new_stream(), b = new_stream(), other = new_stream();
	CUevent e, begin, end;
	CUdeviceptr p;
	uint64_t *host;
	float ms;
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&begin, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemHostAlloc((void **)&host, 64, 0));
	OK(cuMemsetD8_v2(p, 0, 64));
	host[0] = 42;
	host[1] = 0;
	OK(cuEventRecord(begin, a));
	OK(cuStreamWaitValue64_v2(a, p, 5, 0));
	OK(cuMemcpyHtoDAsync_v2(p + 8, host, 8, a));
	OK(cuEventRecord(e, a));
	OK(cuEventRecord(end, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuMemcpyDtoHAsync_v2(host + 1, p + 8, 8, b));
	EXPECT(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	EXPECT(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	EXPECT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	EXPECT(cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_NOT_READY);
	OK(cuStreamWriteValue64_v2(other, p, 6, 0));
	OK(cuStreamSynchronize(b));
	EXPECT(host[1], 42);
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime(&ms, begin, end));
	TRUE(ms >= 0);
	EXPECT(cuEventElapsedTime(&ms, begin, e), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemFreeHost(host));
	OK(cuMemFree_v2(p));
	OK(cuEventDestroy_v2(e));
	OK(cuStreamDestroy_v2(b)); // the rest is left to the end of the context
}

// Streams that wait for a captured event join the capture, until the stream where it began waits for them.
static void test_forked_graph(CUstream s, CUdeviceptr p, uint32_t *host) {
	CUstream side = new_stream();
	CUgraph g;
	CUgraphExec x;
	CUevent fork, back;
	OK(cuEventCreate(&fork, 0));
	OK(cuEventCreate(&back, 0));
	for (int joined = 0; joined < 2; joined++) {
		OK(cuStreamBeginCapture_v2(s, 1));
		OK(cuMemsetD32Async(p, 5, 1, s));
		OK(cuEventRecord(fork, s));
		OK(cuStreamWaitEvent(side, fork, 0));
		OK(cuMemcpyDtoHAsync_v2(host, p, 4, side));
		EXPECT(cuStreamEndCapture(side, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
		OK(cuEventRecord(back, side));
		if (joined) {
			OK(cuStreamWaitEvent(s, back, 0));
		}
		EXPECT(cuStreamEndCapture(s, &g), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	}
	host[0] = 0;
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	EXPECT(host[0], 5);
	EXPECT(cuStreamWaitEvent(side, back, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); // its capture is over
	OK(cuEventRecord(back, s));
	OK(cuStreamWaitEvent(side, back, 0));
	OK(cuStreamBeginCapture_v2(s, 1));
	EXPECT(cuStreamWaitEvent(s, back, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	EXPECT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuGraphExecDestroy(x));
	OK(cuEventDestroy_v2(fork));
	OK(cuEventDestroy_v2(back));
}

static void test_graph(void) {
	CUstream s = new_stream();
	CUdeviceptr p;
	CUgraph g;
	CUgraphExec x;
	uint32_t *host;
	OK(cuMemAlloc_v2(&p, 16));
	OK(cuMemHostAlloc((void **)&host, 16, 0));
	OK(cuMemsetD8_v2(p, 0, 16));
	OK(cuStreamBeginCapture_v2(s, 1));
	OK(cuMemsetD32Async(p, 0x01020304, 4, s));
	OK(cuMemcpyDtoHAsync_v2(host, p, 16, s));
	OK(cuStreamEndCapture(s, &g));
	EXPECT(host[0], 0); // captured, not done
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	TRUE(host[0] == 0x01020304 && host[3] == 0x01020304);
	OK(cuGraphExecDestroy(x));
	EXPECT(cuGraphExecDestroy(x), CUDA_ERROR_INVALID_VALUE);
	test_forked_graph(s, p, host);
	OK(cuMemFree_v2(p));
}

const char ptx[] = ".version 7.8\n.target sm_75\n.visible .entry stamp_tiles(\n)\n{}\n"
			  ".visible .entry check_tiles(\n)\n{}\n.visible .entry unheard_of(\n)\n{}\n";

static void test_kernels(void) {
	CUstream s = new_stream();
	CUmodule m;
	CUfunction stamp, check, other;
	CUdeviceptr p, counter;
	uint32_t row = 70, rows = 34, passes = 3, pause = 1000, wrong = 0;
	uint64_t number = 1, first;
	EXPECT(cuModuleLoadData(&m, "nonsense"), CUDA_ERROR_INVALID_IMAGE);
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&stamp, m, "stamp_tiles"));
	OK(cuModuleGetFunction(&check, m, "check_tiles"));
	OK(cuModuleGetFunction(&other, m, "unheard_of"));
	EXPECT(cuModuleGetFunction(&other, m, "stamp"), CUDA_ERROR_NOT_FOUND);
	OK(cuMemAlloc_v2(&p, row * rows));
	OK(cuMemAlloc_v2(&counter, 4));
	OK(cuMemsetD8_v2(counter, 0, 4));
	void *a[] = {&p, &row, &rows, &number, &counter, &passes, &pause};
	EXPECT(cuLaunchKernel(stamp, 2, 2, 1, 32, 8, 1, 0, s, a, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuLaunchKernel(other, 1, 1, 1, 1, 1, 1, 0, s, a, NULL), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuLaunchKernel(stamp, 1, 2, 1, 32, 8, 1, 0, s, a, NULL));
	OK(cuLaunchKernel(check, 1, 2, 1, 32, 8, 1, 0, s, a, NULL));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&wrong, counter, 4));
	EXPECT(wrong, 0);
	OK(cuMemcpyDtoH_v2(&first, p, 8));
	TRUE(first == 0x910a2dec89025cc1u); // splitmix64 of 1
	OK(cuMemsetD8_v2(p + row * rows - 1, 0, 1));
	OK(cuLaunchKernel(check, 1, 2, 1, 32, 8, 1, 0, s, a, NULL));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&wrong, counter, 4));
	EXPECT(wrong, 3); // one tile in three passes
	OK(cuModuleUnload(m));
	EXPECT(cuLaunchKernel(check, 1, 2, 1, 32, 8, 1, 0, s, a, NULL), CUDA_ERROR_INVALID_HANDLE);
}

void test_alone(void) {
	test_before_init();
	CUcontext context = open_device();
	test_wrong_handles();
	test_memory();
	test_order();
	test_graph();
	test_kernels();
	size_t free, total;
	OK(cuDevicePrimaryCtxRelease_v2(0));
	EXPECT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	EXPECT(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
	open_device();
	OK(cuMemGetInfo_v2(&free, &total));
	TRUE(free == total); // the context's memory went with it
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

// A kernel that reads nobody's memory breaks the context for good.
void test_failure(void) {
	open_device();
	CUstream s = new_stream(), other = new_stream();
	CUmodule m;
	CUfunction stamp;
	CUdeviceptr p, nobodys = 4096;
	uint32_t row = 32, rows = 32;
	uint64_t number = 1;
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD8_v2(p, 0, 64));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&stamp, m, "stamp_tiles"));
	void *a[] = {&nobodys, &row, &rows, &number};
	OK(cuStreamWaitValue64_v2(other, p, 1, 0));
	OK(cuLaunchKernel(stamp, 1, 1, 1, 32, 8, 1, 0, s, a, NULL));
	EXPECT(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(cuStreamSynchronize(other), CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(cuMemAlloc_v2(&p, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

int main(int count, char **arguments) {
	const char *part = count > 1 ? arguments[1] : "";
	static const struct { const char *name; void (*run)(void); } parts[] = {
		{"alone", test_alone}, {"failure", test_failure}, {"gpus", test_gpus}, {"threads", test_threads}, {"two", test_two_processes}, {"exporter", exporter},
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!strcmp(part, parts[i].name)) {
			parts[i].run();
			return 0;
		}
	}
	fprintf(stderr, "selftest alone | failure | gpus | threads | two\n");
	return 2;
}
