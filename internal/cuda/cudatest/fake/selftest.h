// What the parts of the self-test share.
#pragma once

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

// A call must return a code; anything else ends the process with the line's number.
#define EXPECT(call, code)                                                                                    \
	do {                                                                                                  \
		int returned = (int)(call);                                                                   \
		if (returned != (int)(code)) {                                                                \
			fprintf(stderr, "%s:%d: %s: %d, want %d\n", __FILE__, __LINE__, #call, returned, (int)(code)); \
			exit(1);                                                                              \
		}                                                                                             \
	} while (0)
#define OK(call) EXPECT(call, CUDA_SUCCESS)
#define TRUE(condition) EXPECT(!!(condition), 1)

CUcontext open_device(void);
CUcontext open_ordinal(CUdevice device);
CUstream new_stream(void);
void test_alone(void);
void test_failure(void);
void test_gpus(void);
void test_threads(void);
void test_two_processes(void);
extern const char ptx[];
void exporter(void);
