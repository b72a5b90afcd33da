// Runs the kernels' sources: fibers, barriers, and the launch of a grid.
#include "emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "launch.h"
#ifndef __x86_64__
#error "fibers are written for x86-64 alone: kernels are not emulated on this machine"
#endif

namespace emulate {

thread_local Lane *lane;
thread_local dim3 block_index, block_size, grid_size;
thread_local unsigned char *dynamic_shared;
Kernel *kernels;

namespace {

const size_t STACK = 256 << 10;
const unsigned MOST = 1024;

typedef void *Saved;

// Pushes what a function must preserve, changes the stack, pops.
__attribute__((naked, noinline)) void change(Saved *, Saved) {
	asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15;"
	    "mov %rsp, (%rdi); mov %rsi, %rsp;"
	    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}

Saved prepared(char *stack, void (*entry)()) {
	void **top = (void **)(((uintptr_t)stack + STACK) & ~(uintptr_t)63);
	*--top = NULL; // where entry would return to: the stack is aligned as after a call
	*--top = (void *)entry;
	for (int i = 0; i < 6; i++) {
		*--top = NULL;
	}
	return top;
}

enum State { READY, AT_WARP, AT_BLOCK, OVER };

struct Fiber {
	Lane lane;
	State state;
	unsigned mask;
	Saved saved;
};

struct Machine { // of one thread of the system
	char *stacks;
	Fiber fibers[MOST];
	uint64_t slots[MOST / 32][2 * 32 * 8];
	Saved scheduler;
	Fiber *current;
	const struct emulated_launch *launch;
	const Kernel *kernel;
	struct { uint64_t first, end; char *bytes; } known[8];
	unsigned next_known;
	enum emulated_result result;
};
thread_local Machine *machine;

void give_way(State state, unsigned mask) {
	Fiber *f = machine->current;
	f->state = state;
	f->mask = mask;
	change(&f->saved, machine->scheduler);
}

// The fiber that finds a fault goes no further, and no other one after it.
void fail(enum emulated_result result) {
	machine->result = result;
	give_way(OVER, 0);
}

[[noreturn]] void enter() {
	machine->kernel->call(machine->kernel->kernel, machine->launch->words);
	give_way(OVER, 0);
	abort();
}

void resume(Fiber *f) {
	machine->current = f;
	lane = &f->lane;
	change(&machine->scheduler, f->saved);
}

// Runs one warp until each of its lanes is at the block's barrier or over.
void run_warp(Fiber *warp, unsigned lanes) {
	for (bool again = true; again && !machine->result;) {
		for (unsigned i = 0; i < lanes && !machine->result; i++) {
			if (warp[i].state == READY) {
				resume(&warp[i]);
			}
		}
		again = false;
		for (unsigned i = 0; i < lanes; i++) {
			if (warp[i].state != AT_WARP) {
				continue;
			}
			for (unsigned k = 0; k < lanes; k++) { // all lanes that the mask names must be there
				bool named = warp[i].mask >> k & 1;
				if (named && warp[k].state != AT_WARP && !machine->result) {
					fprintf(stderr, "emulated kernel %s: lane %u waits for lane %u of its warp, which %s\n", machine->kernel->name, i, k,
						warp[k].state == OVER ? "has returned" : "waits for the block");
					machine->result = EMULATED_STUCK;
				}
			}
			again = true;
		}
		for (unsigned i = 0; again && i < lanes; i++) {
			warp[i].state = warp[i].state == AT_WARP ? READY : warp[i].state;
		}
	}
}

void run_block(unsigned threads) {
	Machine *m = machine;
	for (unsigned i = 0; i < threads; i++) {
		Fiber *f = &m->fibers[i];
		f->lane.thread = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
		f->lane.number = i;
		f->lane.slots = m->slots[i / 32];
		f->lane.turn = 0;
		f->state = READY;
		f->saved = prepared(m->stacks + i * STACK, enter);
	}
	for (bool again = true; again && !m->result;) {
		for (unsigned first = 0; first < threads; first += 32) {
			run_warp(&m->fibers[first], threads - first < 32 ? threads - first : 32);
		}
		again = false;
		for (unsigned i = 0; i < threads; i++) {
			if (m->fibers[i].state == AT_BLOCK) {
				m->fibers[i].state = READY;
				again = true;
			}
		}
	}
}

bool ready() {
	if (machine) {
		return true;
	}
	Machine *m = (Machine *)calloc(1, sizeof *m);
	void *stacks = mmap(NULL, MOST * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!m || stacks == MAP_FAILED) {
		free(m);
		return false;
	}
	m->stacks = (char *)stacks;
	machine = m;
	return true;
}

} // namespace

void block_barrier() { give_way(AT_BLOCK, 0); }
void warp_barrier(unsigned mask) { give_way(AT_WARP, mask); }

void *translate(uint64_t address) {
	Machine *m = machine;
	for (auto &k : m->known) {
		if (address >= k.first && address < k.end) {
			return k.bytes + (address - k.first);
		}
	}
	if (!address) {
		return NULL; // what a kernel does not need
	}
	auto &k = m->known[m->next_known++ % 8];
	char *first = m->launch->reach(m->launch->context, address, &k.first, &k.end);
	if (!first) {
		k.end = 0;
		fprintf(stderr, "emulated kernel %s: no memory at %#llx\n", m->kernel->name, (unsigned long long)address);
		fail(EMULATED_ILLEGAL_ADDRESS);
	}
	k.bytes = first;
	return first + (address - k.first);
}

} // namespace emulate

using namespace emulate;

const struct emulated_kernel *emulated_kernel(const char *name) {
	for (const Kernel *k = kernels; k; k = k->next) {
		if (!strcmp(k->name, name)) {
			return reinterpret_cast<const struct emulated_kernel *>(k);
		}
	}
	return NULL;
}

enum emulated_result emulated_run(const struct emulated_launch *launch) {
	unsigned char *shared = (unsigned char *)aligned_alloc(128, (launch->shared / 128 + 1) * 128);
	if (!shared || !ready()) {
		free(shared);
		return EMULATED_NO_MEMORY;
	}
	Machine *m = machine;
	m->launch = launch;
	m->kernel = reinterpret_cast<const Kernel *>(launch->kernel);
	m->result = EMULATED_OK;
	memset(m->known, 0, sizeof m->known);
	dynamic_shared = shared;
	const unsigned *grid = launch->grid, *block = launch->block;
	grid_size = {grid[0], grid[1], grid[2]};
	block_size = {block[0], block[1], block[2]};
	for (uint64_t i = 0; i < (uint64_t)grid[0] * grid[1] * grid[2] && !m->result; i++) {
		block_index = {(unsigned)(i % grid[0]), (unsigned)(i / grid[0] % grid[1]), (unsigned)(i / grid[0] / grid[1])};
		run_block(block[0] * block[1] * block[2]);
	}
	free(shared);
	return m->result;
}
