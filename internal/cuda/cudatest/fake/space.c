// The folder through which processes share memory and events, its clean-up, and the bell that wakes waiting threads of
// all of them. A process holds a lock on a file of its own as long as it lives: whatever way it dies, the next process
// finds the file unlocked and removes all that bears its number.
#include "fake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct space memory_space = {.folder = -1}, event_space = {.folder = -1};

static struct bell { uint32_t rung, waiting; } *bell;
static pthread_mutex_t folder_mutex = PTHREAD_MUTEX_INITIALIZER; // flock knows processes, not threads

// The folder must be nobody else's: what lies in it is mapped and trusted.
static bool folder_open(struct space *space) {
	if (mkdir(space->path, 0700) && errno != EEXIST) {
		return false;
	}
	space->folder = open(space->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat s;
	return space->folder >= 0 && !fstat(space->folder, &s) && s.st_uid == geteuid() && !(s.st_mode & 022);
}

static bool process_file(struct space *space) {
	char name[64];
	if (getrandom(&space->process, sizeof space->process, 0) != sizeof space->process) {
		return false;
	}
	snprintf(name, sizeof name, "%016" PRIx64 ".process", space->process);
	int file = openat(space->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return file >= 0 && !flock(file, LOCK_EX | LOCK_NB); // stays open and locked
}

static bool space_open(struct space *space, const char *path) {
	if (space->folder >= 0) {
		return true;
	}
	snprintf(space->path, sizeof space->path, "%s", path);
	if (!folder_open(space)) {
		return false;
	}
	space->registry = openat(space->folder, "registry", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (space->registry < 0 || ftruncate(space->registry, 4096)) {
		return false;
	}
	space_lock(space);
	bool made = process_file(space);
	space_sweep(space);
	space_unlock(space);
	return made;
}

CUresult spaces_open(void) {
	char standard[64];
	snprintf(standard, sizeof standard, "/dev/shm/facetrack-fake-cuda-%u", (unsigned)geteuid());
	const char *memory = getenv("FAKE_CUDA_DIR"), *events = getenv("FAKE_CUDA_EVENT_DIR");
	memory = memory && *memory ? memory : standard;
	if (bell) {
		return CUDA_SUCCESS;
	}
	if (!space_open(&memory_space, memory) || !space_open(&event_space, events && *events ? events : memory)) {
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory_space.registry, 0);
	if (page == MAP_FAILED) {
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	bell = page;
	return CUDA_SUCCESS;
}

uint64_t next_number(void) {
	static uint64_t last;
	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void space_lock(struct space *space) {
	pthread_mutex_lock(&folder_mutex);
	while (flock(space->registry, LOCK_EX) && errno == EINTR) {
	}
}

void space_unlock(struct space *space) {
	flock(space->registry, LOCK_UN);
	pthread_mutex_unlock(&folder_mutex);
}

static DIR *listing(struct space *space) {
	int again = openat(space->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return again < 0 ? NULL : fdopendir(again);
}

static void remove_all_of(struct space *space, const char *prefix) {
	DIR *list = listing(space);
	for (struct dirent *e; list && (e = readdir(list));) {
		if (!strncmp(e->d_name, prefix, 16)) {
			unlinkat(space->folder, e->d_name, 0);
		}
	}
	if (list) {
		closedir(list);
	}
}

// flock belongs to an open file: this process's own file, opened again, counts as locked.
static bool is_dead(struct space *space, const char *name) {
	int file = openat(space->folder, name, O_RDWR | O_CLOEXEC);
	bool dead = file >= 0 && !flock(file, LOCK_EX | LOCK_NB);
	if (file >= 0) {
		close(file);
	}
	return dead;
}

void space_sweep(struct space *space) {
	DIR *list = listing(space);
	for (struct dirent *e; list && (e = readdir(list));) {
		if (strlen(e->d_name) == 24 && !strcmp(e->d_name + 16, ".process") && is_dead(space, e->d_name)) {
			remove_all_of(space, e->d_name);
		}
	}
	if (list) {
		closedir(list);
	}
}

// An importer has a link of its own to the file: memory counts once, until the last process has let go of it.
uint64_t space_used(int gpu) {
	space_sweep(&memory_space);
	char own[16];
	snprintf(own, sizeof own, "-%d.mem", gpu);
	double sum = 0; // of size/links, over all links
	DIR *list = listing(&memory_space);
	for (struct dirent *e; list && (e = readdir(list));) {
		size_t name = strlen(e->d_name), tail = strlen(own);
		struct stat s;
		if (name > tail && !strcmp(e->d_name + name - tail, own) && !fstatat(memory_space.folder, e->d_name, &s, 0)) {
			sum += (double)s.st_size / (double)s.st_nlink;
		}
	}
	if (list) {
		closedir(list);
	}
	return (uint64_t)(sum + 0.5);
}

uint32_t bell_value(void) { return __atomic_load_n(&bell->rung, __ATOMIC_SEQ_CST); }

void bell_ring(void) {
	__atomic_add_fetch(&bell->rung, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bell->waiting, __ATOMIC_SEQ_CST)) {
		syscall(SYS_futex, &bell->rung, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
	}
}

// The time limit is for what changes without the bell: another process's failure.
void bell_wait(uint32_t seen) {
	struct timespec limit = {.tv_nsec = 5000000};
	__atomic_add_fetch(&bell->waiting, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &bell->rung, FUTEX_WAIT, seen, &limit, NULL, 0);
	__atomic_sub_fetch(&bell->waiting, 1, __ATOMIC_SEQ_CST);
}

uint64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
