// A face's record: 32-bit words, floats but for the flags. Package faces has the same numbers.
#pragma once
#include "portable.cuh"

#define PRESENCE 0
#define FLAGS 1
#define BOX 2         // x, y, width, height
#define NEXT 6        // region: centre, side, rotation
#define APPEARANCE 12 // 60 values
#define BLENDSHAPES 72 // SCORES values
#define POINTS 124    // x, y, z of each; then a value of each, the spread, and TURN values, as far as the network tells them

#define SCORES 52
#define TURN 6

#define FINITE 1u   // in flags: nothing that was read is infinite or not a number
#define HAS_NEXT 2u // and the next region can be cut

struct Next { // faces.Place
	double cx, cy, size, sin, cos;
	u64 valid;
};
