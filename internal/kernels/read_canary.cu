// out[i] = cell[i], for the 8 words of a proof cell, one thread each
typedef unsigned long long u64;

extern "C" __global__ void read_canary(u64 cell, u64 out) {
	u64 v;
	asm volatile("ld.global.cv.u64 %0, [%1];" : "=l"(v) : "l"(cell + 8 * threadIdx.x) : "memory");
	((u64 *)out)[threadIdx.x] = v;
}
