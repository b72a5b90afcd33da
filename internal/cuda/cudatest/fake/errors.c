// Names of the errors that the fake returns.
#include "fake.h"

static const struct { CUresult code; const char *name, *text; } errors[] = {
#define ERROR(code, text) {CUDA_##code, "CUDA_" #code, text}
	ERROR(SUCCESS, "no error"),
	ERROR(ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(ERROR_DEVICE_UNAVAILABLE, "device is busy or unavailable"),
	ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(ERROR_MAP_FAILED, "mapping of buffer object failed"),
	ERROR(ERROR_ALREADY_MAPPED, "resource already mapped"),
	ERROR(ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
	ERROR(ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
	ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(ERROR_NOT_READY, "device not ready"),
	ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	ERROR(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ERROR(ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
	ERROR(ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
	ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
	ERROR(ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
	ERROR(ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
	ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
	ERROR(ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

static int find(CUresult code) {
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		if (errors[i].code == code) {
			return (int)i;
		}
	}
	return -1;
}

API CUresult cuGetErrorName(CUresult code, const char **name) {
	int i = find(code);
	if (!name) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*name = i < 0 ? NULL : errors[i].name;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuGetErrorString(CUresult code, const char **text) {
	int i = find(code);
	if (!text) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*text = i < 0 ? NULL : errors[i].text;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
