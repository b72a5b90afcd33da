// Two processes: one makes memory and events, the other opens them, and sees the first one die.
#include "selftest.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (4 << 20)
#define READY BYTES // offset of the word that says which generation is here
#define GATE (BYTES + 8)  // offset of the word that lets the copy of a generation begin

struct exported {
	CUipcMemHandle memory;
	CUipcEventHandle event;
};

static void put(const void *from, size_t n) { TRUE(write(3, from, n) == (ssize_t)n); }
static char command(void) {
	char c = 0;
	return read(3, &c, 1) == 1 ? c : 'q';
}

// Commands: 'c' copies a frame once the gate is open, writes the word and records the event; 'f' frees all.
void exporter(void) {
	open_device();
	CUstream s = new_stream();
	CUdeviceptr p;
	CUevent e;
	CUipcMemHandle again;
	struct exported x;
	unsigned char *host;
	OK(cuMemAlloc_v2(&p, BYTES + 64));
	OK(cuMemsetD8_v2(p, 0, BYTES + 64));
	OK(cuMemHostAlloc((void **)&host, BYTES, 0));
	OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	EXPECT(cuIpcGetMemHandle(&again, p + 512), CUDA_ERROR_INVALID_VALUE);
	OK(cuIpcGetMemHandle(&x.memory, p));
	OK(cuIpcGetEventHandle(&x.event, e));
	EXPECT(cuIpcOpenMemHandle_v2(&p, x.memory, 1), CUDA_ERROR_INVALID_CONTEXT); // one's own
	EXPECT(cuIpcOpenEventHandle(&e, x.event), CUDA_ERROR_INVALID_CONTEXT);
	put(&x, sizeof x);
	for (uint64_t generation = 1;; generation++) {
		char c = command();
		if (c == 'c') {
			OK(cuStreamSynchronize(s));
			memset(host, (int)generation, BYTES);
			OK(cuStreamWaitValue64_v2(s, p + GATE, generation, 0));
			OK(cuMemcpyHtoDAsync_v2(p, host, BYTES, s));
			OK(cuStreamWriteValue64_v2(s, p + READY, generation, 0));
			OK(cuEventRecord(e, s));
			put("c", 1);
		} else if (c == 'f') {
			OK(cuMemFree_v2(p));
			OK(cuEventDestroy_v2(e));
			put("f", 1);
		} else {
			exit(0);
		}
	}
}

static pid_t start(struct exported *x, int *link, const char *events) {
	int ends[2];
	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	pid_t child = fork();
	if (child == 0) {
		TRUE(dup2(ends[1], 3) == 3);
		setenv("FAKE_CUDA_COPY_NS_PER_KIB", "50000", 1); // a frame takes 0.2 s
		if (events) {
			setenv("FAKE_CUDA_EVENT_DIR", events, 1);
		}
		execl("/proc/self/exe", "selftest", "exporter", NULL);
		_exit(127);
	}
	close(ends[1]);
	*link = ends[0];
	TRUE(read(*link, x, sizeof *x) == sizeof *x);
	return child;
}

static void order(int link, char c) {
	char answer = 0;
	TRUE(write(link, &c, 1) == 1 && read(link, &answer, 1) == 1 && answer == c);
}

static void test_wrong_handles(const struct exported *x) {
	CUipcMemHandle memory;
	CUipcEventHandle event;
	CUdeviceptr p;
	CUevent e;
	memset(&memory, 0, sizeof memory);
	EXPECT(cuIpcOpenMemHandle_v2(&p, memory, 1), CUDA_ERROR_INVALID_VALUE);
	memset(&event, 0, sizeof event);
	EXPECT(cuIpcOpenEventHandle(&e, event), CUDA_ERROR_MAP_FAILED);
	for (int i = 0; i < 64; i += 9) {
		memory = x->memory;
		memory.reserved[i] ^= 1;
		EXPECT(cuIpcOpenMemHandle_v2(&p, memory, 1), CUDA_ERROR_ALREADY_MAPPED);
		event = x->event;
		event.reserved[i] ^= 1;
		EXPECT(cuIpcOpenEventHandle(&e, event), CUDA_ERROR_MAP_FAILED);
	}
}

struct imported {
	CUdeviceptr p;
	CUevent e;
	CUstream s;
	uint64_t *host; // the first and the last words of the frame, and the ready word
};

static struct imported import(const struct exported *x) {
	struct imported i;
	CUdeviceptr again;
	OK(cuIpcOpenMemHandle_v2(&i.p, x->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenMemHandle_v2(&again, x->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	TRUE(again == i.p);
	OK(cuIpcCloseMemHandle(again)); // opened twice: still here
	OK(cuIpcOpenEventHandle(&i.e, x->event));
	i.s = new_stream();
	OK(cuMemHostAlloc((void **)&i.host, 64, 0));
	memset(i.host, 0xee, 64);
	EXPECT(cuMemFree_v2(i.p), CUDA_ERROR_INVALID_VALUE); // not ours
	return i;
}

static void download(struct imported i) {
	OK(cuMemcpyDtoHAsync_v2(i.host, i.p, 8, i.s));
	OK(cuMemcpyDtoHAsync_v2(i.host + 1, i.p + BYTES - 8, 8, i.s));
	OK(cuMemcpyDtoHAsync_v2(i.host + 2, i.p + READY, 8, i.s));
}

static void test_event_orders_copies(int link, struct imported i) {
	CUstream gate = new_stream();
	order(link, 'c');
	EXPECT(cuEventQuery(i.e), CUDA_ERROR_NOT_READY);
	OK(cuStreamWaitEvent(i.s, i.e, 0));
	download(i);
	EXPECT(cuStreamQuery(i.s), CUDA_ERROR_NOT_READY);
	OK(cuStreamWriteValue64_v2(gate, i.p + GATE, 1, 0));
	OK(cuStreamSynchronize(i.s));
	TRUE(i.host[0] == 0x0101010101010101 && i.host[1] == 0x0101010101010101 && i.host[2] == 1);
	OK(cuEventQuery(i.e));
}

// A wait for the event of a dead process never ends; one for a word does when somebody writes it.
static void test_death(pid_t child, int link, struct imported i) {
	CUstream word = new_stream(), poison = new_stream();
	order(link, 'c');
	OK(cuStreamWaitEvent(i.s, i.e, 0));
	download(i);
	OK(cuStreamWaitValue64_v2(word, i.p + READY, 2, 0));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(link);
	EXPECT(cuEventQuery(i.e), CUDA_ERROR_NOT_READY);
	EXPECT(cuStreamQuery(word), CUDA_ERROR_NOT_READY);
	OK(cuStreamWriteValue64_v2(poison, i.p + READY, 2 | 1ull << 62, 0));
	OK(cuStreamSynchronize(word));
	OK(cuEventRecord(i.e, poison)); // a new record ends no wait for an older one
	OK(cuEventSynchronize(i.e));
	usleep(50000);
	EXPECT(cuStreamQuery(i.s), CUDA_ERROR_NOT_READY);
	TRUE(i.host[0] == 0x0101010101010101 && i.host[2] == 1); // still from the generation before
	uint64_t last;
	OK(cuMemcpyDtoH_v2(&last, i.p + BYTES - 8, 8)); // the mapping outlives its maker
	TRUE(last == 0x0101010101010101); // and nothing goes on for the dead
}

static size_t free_memory(void) {
	size_t free, total;
	OK(cuMemGetInfo_v2(&free, &total));
	return free;
}

static void test_free(void) {
	struct exported x;
	int link;
	size_t before = free_memory();
	pid_t child = start(&x, &link, NULL);
	EXPECT(before - free_memory(), BYTES + 64);
	struct imported i = import(&x);
	EXPECT(before - free_memory(), BYTES + 64); // one memory, two processes
	test_wrong_handles(&x);
	test_event_orders_copies(link, i);
	order(link, 'f');
	CUdeviceptr p;
	CUevent e;
	download(i);
	OK(cuStreamSynchronize(i.s));
	EXPECT(i.host[2], 1);
	EXPECT(before - free_memory(), BYTES + 64); // as long as it is mapped here
	OK(cuIpcCloseMemHandle(i.p));
	EXPECT(cuIpcCloseMemHandle(i.p), CUDA_ERROR_INVALID_VALUE);
	EXPECT(before - free_memory(), 0);
	EXPECT(cuIpcOpenMemHandle_v2(&p, x.memory, 1), CUDA_ERROR_MAP_FAILED);
	EXPECT(cuIpcOpenEventHandle(&e, x.event), CUDA_ERROR_MAP_FAILED);
	close(link);
	waitpid(child, NULL, 0);
}

// As with a private /dev/shm: memory opens, events do not.
static void test_other_folder(void) {
	struct exported x;
	int link;
	char folder[] = "/tmp/selftest-events-XXXXXX", command[64];
	TRUE(mkdtemp(folder));
	pid_t child = start(&x, &link, folder);
	CUdeviceptr p;
	CUevent e;
	OK(cuIpcOpenMemHandle_v2(&p, x.memory, 1));
	EXPECT(cuIpcOpenEventHandle(&e, x.event), CUDA_ERROR_MAP_FAILED);
	OK(cuIpcCloseMemHandle(p));
	close(link);
	waitpid(child, NULL, 0);
	snprintf(command, sizeof command, "rm -r %s", folder);
	OK(system(command));
}

void test_two_processes(void) {
	open_device();
	test_free();
	test_other_folder();
	struct exported x;
	int link;
	size_t before = free_memory();
	pid_t child = start(&x, &link, NULL);
	struct imported i = import(&x);
	test_event_orders_copies(link, i);
	test_death(child, link, i);
	EXPECT(before - free_memory(), BYTES + 64);
	child = start(&x, &link, NULL); // the next one finds what the dead one left
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT(before - free_memory(), BYTES + 64);
	EXPECT(cuIpcOpenMemHandle_v2(&i.p, x.memory, 1), CUDA_ERROR_MAP_FAILED); // its maker is dead
}
