#include "conv.cuh"

CONV(conv_gather_f16_8, __half, 8, 4, Gather) EMULATED(conv_gather_f16_8);
CONV(conv_gather_f16_1, __half, 1, 4, Gather) EMULATED(conv_gather_f16_1);
CONV(conv_front3_f16_8, __half, 8, 4, Front3<2>) EMULATED(conv_front3_f16_8);
CONV(conv_front3_f16_4, __half, 4, 4, Front3<2>) EMULATED(conv_front3_f16_4);
CONV(conv_front3_f16_2, __half, 2, 4, Front3<2>) EMULATED(conv_front3_f16_2);
CONV(conv_front_f16_1, __half, 1, 4, FrontAny) EMULATED(conv_front_f16_1);

// For tiles of 16 pixels.
CONV(conv_gather_f16_8_small, __half, 8, 2, Gather) EMULATED(conv_gather_f16_8_small);
CONV(conv_gather_f16_1_small, __half, 1, 2, Gather) EMULATED(conv_gather_f16_1_small);
CONV(conv_front3_f16_8_small, __half, 8, 2, Front3<1>) EMULATED(conv_front3_f16_8_small);
