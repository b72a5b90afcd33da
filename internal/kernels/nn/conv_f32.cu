#include "conv.cuh"

CONV(conv_gather_f32_4, float, 4, 4, Gather) EMULATED(conv_gather_f32_4);
CONV(conv_gather_f32_1, float, 1, 4, Gather) EMULATED(conv_gather_f32_1);
CONV(conv_front3_f32_4, float, 4, 4, Front3<2>) EMULATED(conv_front3_f32_4);
CONV(conv_front3_f32_2, float, 2, 4, Front3<2>) EMULATED(conv_front3_f32_2);
CONV(conv_front_f32_1, float, 1, 4, FrontAny) EMULATED(conv_front_f32_1);
