// A CUDA driver without a GPU, for tests. Device memory is shared memory, a stream is a thread that works through its
// queue, and what the driver shares between processes lies in files of one folder ($FAKE_CUDA_DIR).
//
// Environment, read by cuInit and again with the first context of a device:
//   FAKE_CUDA_DIR                 folder; processes see each other's memory only through the same one
//   FAKE_CUDA_EVENT_DIR           folder of interprocess events, when it is another one: as with a /dev/shm of its own
//   FAKE_CUDA_DEVICES             number of GPUs (1); CUDA_VISIBLE_DEVICES hides and reorders them, by number
//   FAKE_CUDA_MEMORY              bytes of memory of a GPU (4 GiB)
//   FAKE_CUDA_PEER                1: GPUs reach each other's memory
//   FAKE_CUDA_MIG, FAKE_CUDA_INTEGRATED, FAKE_CUDA_NO_MEMOPS   1: a GPU of that kind
//   FAKE_CUDA_COMPUTE_MODE        2: prohibited
//   FAKE_CUDA_COPY_NS_PER_KIB     how long a copy takes at least
//   FAKE_CUDA_KERNELS             libraries of emulated kernels, with colons between them
//   FAKE_CUDA_SLOW                a path: while PATH.n is a named pipe, a context of GPU n begins and ends only when somebody
//                                 has opened that pipe for writing and closed it again
//   FAKE_CUDA_SICK                number of a GPU of which the driver can tell and do nothing: 999
//   FAKE_CUDA_FAIL                a path: once that file exists, every GPU fails with 700, as when another client of
//                                 the same MPS server dies
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef FAKE_CUDA_HEADER
#include <cuda.h>
#else
#include "driver.h"
#endif

#include "emulate/launch.h"

#define API __attribute__((visibility("default")))
#define MAX_DEVICES 16
#define MOST_SHARED (227 << 10) // bytes of a block, of those that ask for them

// device.c: what the environment says, and the GPUs that this process sees
struct config {
	bool ready; // cuInit was called
	int devices, visible;
	int gpu[MAX_DEVICES]; // number of the GPU behind an ordinal
	uint64_t memory, copy_ns;
	bool peer, mig, integrated, no_memops;
	int compute_mode;
	int sick; // number of a GPU, -1: none
	char slow[256], fail[256];
};
extern struct config config;
void config_read(void);
CUuuid device_uuid(int gpu);
int device_of_uuid(const void *uuid); // number of a GPU that this process sees, -1 when it does not

// space.c: the folder
struct space {
	char path[256];
	int folder, registry;
	uint64_t process; // random number of this process in the names of its files
};
extern struct space memory_space, event_space;
CUresult spaces_open(void);
uint64_t next_number(void);
void space_lock(struct space *space);
void space_unlock(struct space *space);
void space_sweep(struct space *space); // removes what dead processes left; the folder is locked
uint64_t space_used(int gpu);          // bytes of device memory that processes hold; the folder is locked
uint32_t bell_value(void);             // changes whenever any process has finished a piece of work
void bell_ring(void);
void bell_wait(uint32_t seen); // returns soon after the value is another one
uint64_t now_ns(void);

// object.c: handles
enum kind { STREAM = 1, ENDING_STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXEC };
struct object {
	struct object *next;
	enum kind kind;
	int refs;
	struct CUctx_st *context;
	void (*end)(struct object *object); // frees it, when nobody holds it any more
};
void object_add(void *object, enum kind kind, CUcontext context, void (*end)(struct object *));
void *object_hold(const void *handle, enum kind kind); // NULL: no such handle
void *object_take(const void *handle, enum kind kind); // makes the handle unknown, the caller drops the object
bool object_change(const void *handle, enum kind from, enum kind to);
void *object_hold_any(CUcontext context, enum kind kind);
int object_hold_all(CUcontext context, enum kind kind, void **objects, int most);
void object_keep(void *object);
void object_drop(void *object);

// context.c
struct CUctx_st {
	int gpu, ordinal, retained;
	bool ending;
	int failed; // sticky error
	bool peer[MAX_DEVICES];
	CUstream standard; // of copies that name no stream
};
CUresult context_current(CUcontext *context); // of this thread, when work can be given to it
void context_fail(CUcontext context, CUresult code);
CUresult context_failed(CUcontext context);
CUresult context_drain(CUcontext context); // waits for everything that was queued; may wait for ever

// range.c
enum range_kind { DEVICE, IMPORTED, HOST, REGISTERED };
struct range {
	struct range *next;
	enum range_kind kind;
	CUdeviceptr address; // what programs see; not readable by the CPU when it is device memory
	char *bytes;         // the same memory, readable
	size_t size, mapped;
	int gpu, refs, opened;
	bool known; // in the list
	CUcontext context;
	uint64_t process, number; // of its file
	uint64_t link;            // number of an importer's own name for the file
};
struct range *range_hold(CUdeviceptr address, size_t size); // the range that has all of these bytes
struct range *range_of_file(uint64_t process, uint64_t number, CUcontext context);
struct range *range_map(int file, size_t size, enum range_kind kind, CUcontext context);
void range_publish(struct range *range);
bool range_forget(struct range *range);
void range_drop(struct range *range);
bool range_is_host(const void *host, size_t size);
bool range_overlaps_host(CUdeviceptr address, size_t size);
void range_file(char name[64], uint64_t process, uint64_t number, int gpu, const char *suffix);
void ranges_end(CUcontext context); // what the context leaves behind when it ends

// event.c
#define MARKS 64
struct mark { // in shared memory when it is an interprocess event
	uint64_t recorded;    // number of records so far
	uint64_t done[MARKS]; // done[n%MARKS] is n once record n was reached
};
struct CUevent_st {
	struct object object;
	unsigned flags;
	bool imported;
	struct mark *mark;
	uint64_t process, number;
	uint64_t reached_ns;
	CUgraph captured; // where the last record lies, held; NULL when that was no captured one
	CUstream by;      // which recorded it there
};
bool mark_done(const struct mark *mark, uint64_t record);
void event_reached(CUevent event, uint64_t record);
CUresult event_new(CUevent *event, unsigned flags, struct mark *mark, uint64_t process, uint64_t number, bool imported);
struct mark *mark_map(int file);

// stream.c and work.c
enum work_kind { UP, DOWN, ACROSS, FILL, WRITE, WAIT, RECORD, WAIT_EVENT, KERNEL };
struct work {
	struct work *next;
	enum work_kind kind;
	CUdeviceptr to, from;
	char *host;
	size_t bytes;
	uint64_t value;
	unsigned width, flags;
	CUevent event;
	uint64_t record;
	const struct kernel *kernel;
	const struct emulation *emulated; // instead of kernel
	unsigned grid[3], block[3], shared;
	uint64_t argument[32];
};
struct work_list { struct work *first, **last; };
void work_append(struct work_list *list, struct work *work);
struct work *work_first(struct work_list *list); // takes it out
struct work *work_copy(const struct work *work);
void work_free(struct work *work);
CUresult work_run(CUcontext context, const struct work *work);

struct CUstream_st {
	struct object object;
	unsigned flags;
	int priority;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct work_list queue;
	uint64_t queued, done;
	bool closing;
	CUgraph capture; // what is being captured, instead of done
	bool broken;     // the capture met something that cannot be captured
};
CUresult stream_new(CUstream *stream, CUcontext context, unsigned flags, int priority);
CUresult stream_hold(CUstream handle, CUstream *stream); // it belongs to the current context
CUresult stream_queue(CUstream handle, const struct work *work, bool wait);
CUresult stream_sync(CUstream stream);
void stream_end(CUstream stream);

// graph.c
struct CUgraph_st {
	struct object object;
	struct work_list list;
	bool capturing;
	struct {
		CUstream stream; // held
		bool astray;     // it has work that the origin does not wait for
	} joined[4]; // beside the stream where the capture began
	int streams;
};
CUresult capture_record(CUstream s, CUevent e);
CUresult capture_wait(CUstream s, CUevent e);
void capture_stray(CUstream s);

// kernels.c
struct kernel {
	const char *name;
	int arguments;
	unsigned char width[8]; // bytes of each argument
	bool (*fits)(const unsigned grid[3], const unsigned block[3], const uint64_t *argument);
	CUresult (*run)(CUcontext context, const uint64_t *argument);
};
const struct kernel *kernel_named(const char *name);

// emulated.c
struct emulation;
const struct emulation *emulation_of(const char *name); // NULL: no library has it
int emulation_arguments(const struct emulation *emulation, const size_t **width);
CUresult emulation_run(CUcontext context, const struct work *work);
