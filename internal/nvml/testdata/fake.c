// A management library with one GPU, for tests. What it does not define, an old driver would lack as well.

#include <string.h>

typedef int status;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char text[32]; } pci;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;
typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned field, scope; long long time, latency; unsigned type; status result; unsigned long long value; } field;

static int users;
static const char *uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff";

const char *nvmlErrorString(status s) {
	switch (s) {
	case 1: return "Uninitialized";
	case 3: return "Not Supported";
	case 6: return "Not Found";
	}
	return "Other";
}

status nvmlInit_v2(void) { users++; return 0; }
status nvmlShutdown(void) { return users-- > 0 ? 0 : 1; }

status nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "580.65.06", n); return users ? 0 : 1; }
status nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return users ? 0 : 1; }
status nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = &users; return i ? 2 : 0; }
status nvmlDeviceGetHandleByUUID(const char *u, void **d) { *d = &users; return strcmp(u, uuid) ? 6 : 0; }
status nvmlDeviceGetUUID(void *d, char *u, unsigned n) { strncpy(u, uuid, n); return 0; }
status nvmlDeviceGetName(void *d, char *s, unsigned n) { strncpy(s, "Fake H200", n); return 0; }
status nvmlDeviceGetPciInfo_v3(void *d, pci *p) { p->domain = 1, p->bus = 0x19, p->device = 2; return 0; }
status nvmlDeviceGetMemoryInfo(void *d, memory *m) { m->total = 150ull << 30, m->used = 3ull << 30; return users ? 0 : 1; }
status nvmlDeviceGetComputeMode(void *d, int *m) { *m = 3; return 0; }
status nvmlDeviceGetUtilizationRates(void *d, rates *r) { r->gpu = 42, r->memory = 7; return 0; }
status nvmlDeviceGetTemperature(void *d, int sensor, unsigned *t) { *t = 61; return sensor; }
status nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 123456; return 0; }
status nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *v) { *v = counter == 1 ? 1000 : 20; return 0; }
status nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *v) { *v = 3; return 0; }
status nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *v) { *v = 8; return 0; }
status nvmlDeviceGetMaxPcieLinkGeneration(void *d, unsigned *v) { *v = 5; return 0; }
status nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *v) { *v = 16; return 0; }

status nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *pending) { *now = 1, *pending = 0; return 0; }

static status list(process *to, unsigned *n, const process *from, unsigned count) {
	if (*n < count) {
		*n = count;
		return 7;
	}
	memcpy(to, from, count * sizeof *from);
	*n = count;
	return 0;
}

status nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, process *p) {
	static const process all[] = {{100, 500 << 20, -1, -1}, {101, ~0ull, -1, -1}};
	return list(p, n, all, 2);
}

status nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *n, process *p) {
	static const process all[] = {{101, 20 << 20, -1, -1}, {102, ~0ull, -1, -1}};
	return list(p, n, all, 2);
}

status nvmlDeviceGetFieldValues(void *d, int n, field *f) {
	for (int i = 0; i < n; i++) {
		f[i].type = 3; // unsigned long long
		f[i].result = f[i].field == 197 || f[i].field == 198 ? 0 : 3;
		f[i].value = f[i].field == 198 ? 5000000000ull : 77;
	}
	return 0;
}
