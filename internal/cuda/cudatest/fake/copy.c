// Copies, fills, and 64-bit words: the calls.
#include "fake.h"

static bool is_device(CUdeviceptr address, size_t bytes) {
	struct range *r = range_hold(address, bytes);
	if (r) {
		range_drop(r);
	}
	return r != NULL;
}

// Addresses are checked first, as the driver does; pageable host memory makes the call wait until it is copied.
static CUresult copy_host(enum work_kind kind, CUdeviceptr device, char *host, size_t bytes, CUstream stream, bool wait) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !bytes) {
		return code;
	}
	if (!host || !is_device(device, bytes)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	struct work w = {.kind = kind, .to = device, .host = host, .bytes = bytes};
	return stream_queue(stream, &w, wait || !range_is_host(host, bytes));
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
	return copy_host(UP, to, (char *)from, bytes, stream, false);
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
	return copy_host(DOWN, from, to, bytes, stream, false);
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
	return copy_host(UP, to, (char *)from, bytes, NULL, true);
}

API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
	return copy_host(DOWN, from, to, bytes, NULL, true);
}

static CUresult copy_across(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, bool wait) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !bytes) {
		return code;
	}
	if (!is_device(to, bytes) || !is_device(from, bytes)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	struct work w = {.kind = ACROSS, .to = to, .from = from, .bytes = bytes};
	return stream_queue(stream, &w, wait);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
	return copy_across(to, from, bytes, stream, false);
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
	return copy_across(to, from, bytes, NULL, true);
}

static CUresult fill(CUdeviceptr to, uint64_t value, unsigned width, size_t count, CUstream stream, bool wait) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code || !count) {
		return code;
	}
	if (to % width || count > SIZE_MAX / width || !is_device(to, count * width)) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	struct work w = {.kind = FILL, .to = to, .value = value, .width = width, .bytes = count * width};
	return stream_queue(stream, &w, wait);
}

API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
	return fill(to, value, 1, count, stream, false);
}

API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
	return fill(to, value, 1, count, NULL, true);
}

API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
	return fill(to, value, 4, count, stream, false);
}

API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
	return fill(to, value, 4, count, NULL, true);
}

static CUresult word(enum work_kind kind, CUstream stream, CUdeviceptr address, uint64_t value, unsigned width,
	unsigned flags) {
	CUcontext c;
	CUresult code = context_current(&c);
	if (code) {
		return code;
	}
	if (config.no_memops) {
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (address % width || !is_device(address, width) || (kind == WRITE && flags > 1) ||
		(kind == WAIT && (flags & ~(3u | 1u << 30)))) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	struct work w = {.kind = kind, .to = address, .value = value, .width = width, .bytes = width, .flags = flags};
	return stream_queue(stream, &w, false);
}

API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
	return word(WRITE, stream, address, value, 8, flags);
}

API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
	return word(WAIT, stream, address, value, 8, flags);
}

API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
	return word(WRITE, stream, address, value, 4, flags);
}

API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
	return word(WAIT, stream, address, value, 4, flags);
}

// The first versions of these calls must be switched on in the driver's module, which they are not on most machines.
#undef cuStreamWriteValue64
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWaitValue32
API CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags);
API CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags);
API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags);
API CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags);

API CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
	(void)stream, (void)address, (void)value, (void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
	(void)stream, (void)address, (void)value, (void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
	(void)stream, (void)address, (void)value, (void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
	(void)stream, (void)address, (void)value, (void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}
