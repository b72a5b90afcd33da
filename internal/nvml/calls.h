//go:build cuda

#ifndef FACETRACK_NVML_CALLS_H
#define FACETRACK_NVML_CALLS_H

// Loads $FACETRACK_LIBNVML, else libnvidia-ml.so.1, and fills every call from it. Returns its name, or NULL with the reason
// in text (of size bytes). Calls that it does not have return NVML_ERROR_FUNCTION_NOT_FOUND.
const char *facetrack_nvml_load(char *text, int size);

#endif
