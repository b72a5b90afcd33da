#include "conv.cuh"

CONV(conv_gather_f16_8, __half, 8, Gather) EMULATED(conv_gather_f16_8);
CONV(conv_gather_f16_1, __half, 1, Gather) EMULATED(conv_gather_f16_1);
CONV(conv_front3_f16_8, __half, 8, Front3) EMULATED(conv_front3_f16_8);
CONV(conv_front3_f16_4, __half, 4, Front3) EMULATED(conv_front3_f16_4);
CONV(conv_front3_f16_2, __half, 2, Front3) EMULATED(conv_front3_f16_2);
CONV(conv_front_f16_1, __half, 1, FrontAny) EMULATED(conv_front_f16_1);
