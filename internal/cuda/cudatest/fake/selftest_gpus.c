// GPUs of other kinds, and more than one.
#include "selftest.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int attribute(int which) {
	int value;
	OK(cuDeviceGetAttribute(&value, which, 0));
	return value;
}

static void set(const char *name, const char *value) {
	TRUE((value ? setenv(name, value, 1) : unsetenv(name)) == 0);
	int n;
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
}

static void close_device(CUdevice d) { OK(cuDevicePrimaryCtxRelease_v2(d)); }

static void test_visible(void) {
	CUuuid a, b, c;
	int n;
	set("FAKE_CUDA_DEVICES", "2");
	OK(cuDeviceGetUuid(&a, 0));
	OK(cuDeviceGetUuid(&b, 1));
	TRUE(memcmp(&a, &b, sizeof a));
	set("CUDA_VISIBLE_DEVICES", "1");
	OK(cuDeviceGetCount(&n));
	OK(cuDeviceGetUuid_v2(&c, 0));
	TRUE(n == 1 && !memcmp(&b, &c, sizeof b));
	EXPECT(cuDeviceGetUuid(&c, 1), CUDA_ERROR_INVALID_DEVICE);
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	EXPECT(cuInit(0), CUDA_ERROR_NO_DEVICE);
	set("CUDA_VISIBLE_DEVICES", NULL);
}

static void test_peers(void) {
	int can;
	CUcontext a = open_ordinal(0), b = open_ordinal(1);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	EXPECT(can, 0);
	EXPECT(cuCtxEnablePeerAccess(a, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	set("FAKE_CUDA_PEER", "1");
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	EXPECT(can, 1);
	EXPECT(cuCtxEnablePeerAccess(b, 0), CUDA_ERROR_INVALID_DEVICE);
	OK(cuCtxEnablePeerAccess(a, 0));
	EXPECT(cuCtxEnablePeerAccess(a, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);

	CUstream s = new_stream();
	CUdeviceptr near, far;
	CUmodule m;
	CUfunction stamp;
	uint32_t row = 32, rows = 32;
	uint64_t number = 1, word;
	void *arguments[] = {&far, &row, &rows, &number};
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&stamp, m, "stamp_tiles"));
	OK(cuMemAlloc_v2(&near, 1024));
	OK(cuCtxSetCurrent(a));
	OK(cuMemAlloc_v2(&far, 1024));
	EXPECT(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE); // a stream of the other context
	OK(cuCtxSetCurrent(b));
	OK(cuLaunchKernel(stamp, 1, 1, 1, 32, 8, 1, 0, s, arguments, NULL));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoDAsync_v2(near, far, 1024, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&word, near + 1016, 8));
	TRUE(word == 0x910a2dec89025cc1u);
	close_device(1);
	OK(cuCtxSetCurrent(a));
	close_device(0);
	set("FAKE_CUDA_DEVICES", "1");
}

static void test_kinds(void) {
	CUdeviceptr p;
	CUipcMemHandle h;
	CUuuid a, b;
	CUcontext c;
	set("FAKE_CUDA_MIG", "1");
	open_device();
	OK(cuDeviceGetUuid(&a, 0));
	OK(cuDeviceGetUuid_v2(&b, 0));
	TRUE(memcmp(&a, &b, sizeof a));
	OK(cuMemAlloc_v2(&p, 64));
	EXPECT(cuIpcGetMemHandle(&h, p), CUDA_ERROR_NOT_SUPPORTED);
	close_device(0);
	set("FAKE_CUDA_MIG", NULL);

	EXPECT(attribute(18), 0);
	set("FAKE_CUDA_INTEGRATED", "1");
	EXPECT(attribute(18), 1);
	open_device();
	OK(cuMemAlloc_v2(&p, 64));
	EXPECT(cuIpcGetMemHandle(&h, p), CUDA_ERROR_NOT_SUPPORTED);
	close_device(0);
	set("FAKE_CUDA_INTEGRATED", NULL);

	EXPECT(attribute(122), 1);
	set("FAKE_CUDA_NO_MEMOPS", "1");
	EXPECT(attribute(122), 0);
	open_device();
	OK(cuMemAlloc_v2(&p, 64));
	EXPECT(cuStreamWriteValue64_v2(NULL, p, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
	close_device(0);
	set("FAKE_CUDA_NO_MEMOPS", NULL);

	set("FAKE_CUDA_COMPUTE_MODE", "2");
	EXPECT(attribute(20), 2);
	EXPECT(cuDevicePrimaryCtxRetain(&c, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
	set("FAKE_CUDA_COMPUTE_MODE", NULL);
}

static void test_failing_gpu(void) {
	char path[] = "/tmp/selftest-fail-XXXXXX";
	int file = mkstemp(path);
	TRUE(file >= 0);
	close(file);
	unlink(path);
	set("FAKE_CUDA_FAIL", path);
	open_device();
	CUstream s = new_stream();
	CUdeviceptr p;
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD8_v2(p, 0, 64));
	OK(cuStreamWaitValue64_v2(s, p, 1, 0));
	close(open(path, O_CREAT | O_WRONLY, 0600));
	EXPECT(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS); // the wait ends with the GPU
	unlink(path);
	EXPECT(cuMemAlloc_v2(&p, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_sick_gpu(void) {
	CUcontext c;
	CUdevice d;
	CUuuid u;
	int n;
	set("FAKE_CUDA_DEVICES", "2");
	set("FAKE_CUDA_SICK", "0");
	OK(cuDeviceGetCount(&n));
	EXPECT(n, 2);
	OK(cuDeviceGet(&d, 0));
	EXPECT(cuDeviceGetUuid(&u, 0), CUDA_ERROR_UNKNOWN);
	EXPECT(cuDevicePrimaryCtxRetain(&c, 0), CUDA_ERROR_UNKNOWN);
	OK(cuDeviceGetUuid(&u, 1));
	open_ordinal(1);
	close_device(1);
	set("FAKE_CUDA_SICK", NULL);
	OK(cuDeviceGetUuid(&u, 0));
	set("FAKE_CUDA_DEVICES", "1");
}

static void *open_slow(void *nothing) {
	open_ordinal(1);
	return nothing;
}

// GPU 1 is slow: GPU 0 is not.
static void test_slow_gpu(void) {
	char folder[] = "/tmp/selftest-slow-XXXXXX", path[64], pipe[80];
	pthread_t thread;
	TRUE(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/slow", folder);
	snprintf(pipe, sizeof pipe, "%s.1", path);
	set("FAKE_CUDA_DEVICES", "2");
	set("FAKE_CUDA_SLOW", path);
	OK(mkfifo(pipe, 0600));
	TRUE(pthread_create(&thread, NULL, open_slow, NULL) == 0);
	int end = open(pipe, O_WRONLY); // returns once the thread waits
	TRUE(end >= 0);
	open_ordinal(0);
	close_device(0);
	unlink(pipe);
	close(end);
	TRUE(pthread_join(thread, NULL) == 0);
	close_device(1);
	rmdir(folder);
	set("FAKE_CUDA_SLOW", NULL);
	set("FAKE_CUDA_DEVICES", "1");
}

void test_gpus(void) {
	test_visible();
	test_peers();
	test_sick_gpu();
	test_slow_gpu();
	test_kinds();
	test_failing_gpu();
}
