// The driver and its GPUs: as many of one make as the environment asks for.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config config;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t number(const char *name, uint64_t otherwise) {
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void text(const char *name, char *value, size_t size) {
	const char *found = getenv(name);
	snprintf(value, size, "%s", found ? found : "");
}

// The list ends at the first number that is no GPU's, as the driver has it; an empty list hides all.
static void visible_devices(struct config *c) {
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	if (!list) {
		for (; c->visible < c->devices; c->visible++) {
			c->gpu[c->visible] = c->visible;
		}
		return;
	}
	while (*list && c->visible < c->devices) {
		char *end;
		long gpu = strtol(list, &end, 10);
		if (end == list || gpu < 0 || gpu >= c->devices) {
			return;
		}
		c->gpu[c->visible++] = (int)gpu;
		list = *end == ',' ? end + 1 : end;
	}
}

// Written only when something has changed: tests change the environment between contexts, not while threads work.
void config_read(void) {
	struct config c;
	memset(&c, 0, sizeof c);
	uint64_t devices = number("FAKE_CUDA_DEVICES", 1);
	c.devices = devices < MAX_DEVICES ? (int)devices : MAX_DEVICES;
	c.memory = number("FAKE_CUDA_MEMORY", 4ull << 30);
	c.copy_ns = number("FAKE_CUDA_COPY_NS_PER_KIB", 0);
	c.peer = number("FAKE_CUDA_PEER", 0);
	c.mig = number("FAKE_CUDA_MIG", 0);
	c.integrated = number("FAKE_CUDA_INTEGRATED", 0);
	c.no_memops = number("FAKE_CUDA_NO_MEMOPS", 0);
	c.compute_mode = (int)number("FAKE_CUDA_COMPUTE_MODE", 0);
	c.sick = (int)number("FAKE_CUDA_SICK", (uint64_t)-1);
	text("FAKE_CUDA_SLOW", c.slow, sizeof c.slow);
	text("FAKE_CUDA_FAIL", c.fail, sizeof c.fail);
	visible_devices(&c);
	pthread_mutex_lock(&mutex);
	c.ready = config.ready;
	if (memcmp(&c, &config, sizeof c)) {
		memcpy(&config, &c, sizeof c);
	}
	pthread_mutex_unlock(&mutex);
}

API CUresult cuInit(unsigned flags) {
	if (flags) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	config_read();
	pthread_mutex_lock(&mutex);
	CUresult code = config.visible ? spaces_open() : CUDA_ERROR_NO_DEVICE;
	if (config.ready != (code == CUDA_SUCCESS)) {
		config.ready = code == CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return code;
}

API CUresult cuDriverGetVersion(int *version) {
	if (!version) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*version = 13000;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count) {
	if (!config.ready) {
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	if (!count) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	config_read();
	*count = config.visible;
	return CUDA_SUCCESS;
}

static CUresult check(CUdevice device, const void *result) {
	if (!config.ready) {
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	if (device < 0 || device >= config.visible) {
		return CUDA_ERROR_INVALID_DEVICE;
	}
	if (config.gpu[device] == config.sick) {
		return CUDA_ERROR_UNKNOWN;
	}
	return result ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
	CUresult code = check(ordinal, device);
	if (!code || code == CUDA_ERROR_UNKNOWN) { // the number of a sick GPU is known
		code = CUDA_SUCCESS;
		*device = ordinal;
	}
	return code;
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
	CUresult code = check(device, name);
	if (!code && size > 0) {
		snprintf(name, (size_t)size, config.mig ? "Fake GPU MIG 1g.18gb" : "Fake GPU");
	}
	return code;
}

CUuuid device_uuid(int gpu) {
	CUuuid u;
	memcpy(u.bytes, "fake GPU number ", 16);
	u.bytes[15] = (char)('0' + gpu);
	return u;
}

int device_of_uuid(const void *uuid) {
	for (int i = 0; i < config.visible; i++) {
		CUuuid u = device_uuid(config.gpu[i]);
		if (!memcmp(&u, uuid, sizeof u)) {
			return config.gpu[i];
		}
	}
	return -1;
}

#undef cuDeviceGetUuid // some headers give the name to the second version
API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
	CUresult code = check(device, uuid);
	if (!code) {
		*uuid = device_uuid(config.gpu[device]);
	}
	return code;
}

// The second version names the MIG instance, the first one the GPU that it is a part of.
API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
	CUresult code = cuDeviceGetUuid(uuid, device);
	if (!code && config.mig) {
		uuid->bytes[0] = 'M';
	}
	return code;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
	CUresult code = check(device, bytes);
	if (!code) {
		*bytes = config.memory;
	}
	return code;
}

API CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
	CUresult code = check(device, text);
	if (!code && size > 0) {
		snprintf(text, (size_t)size, "0000:%02X:00.0", 16 + config.gpu[device]);
	}
	return code;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
	CUresult code = check(device, can);
	if (!code) {
		code = check(peer, can);
	}
	if (!code) {
		*can = config.peer && config.gpu[device] != config.gpu[peer];
	}
	return code;
}

static int attribute(int which, int gpu) {
	switch (which) {
	case 1: case 2: case 3: return 1024; // threads of a block
	case 4: return 64;
	case 5: return 0x7fffffff; // blocks of a grid
	case 6: case 7: return 65535;
	case 8: return 49152;
	case 10: return 32;
	case 12: return 65536;
	case 16: return 132;
	case 18: return config.integrated;
	case 19: return 1;
	case 20: return config.compute_mode;
	case 33: return 16 + gpu; // bus; device and domain are 0
	case 40: return 3;
	case 41: return 1;
	case 75: return 9; // compute capability
	case 76: return 0;
	case 78: return 1;
	case 92: case 122: case 123: return !config.no_memops; // 93 and 94 belong to a version of these calls that is gone
	case 97: return MOST_SHARED;
	case 125: return 1; // interprocess events
	default: return 0;
	}
}

API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
	CUresult code = check(device, value);
	if (!code && ((int)which < 1 || (int)which > 160)) {
		code = CUDA_ERROR_INVALID_VALUE;
	}
	if (!code) {
		*value = attribute((int)which, config.gpu[device]);
	}
	return code;
}
