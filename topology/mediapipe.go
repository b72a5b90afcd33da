package topology

// MediaPipe is the face mesh of the public landmark networks, with irises. Its canonical head is a member of their bundle.
var MediaPipe = &Topology{
	Name: "mediapipe-478", Count: 478,
	Eyes: [2]Eye{
		{
			Outer: 33, Inner: 133, Upper: 159, Lower: 145, Iris: 468, Limbus: []int{469, 470, 471, 472},
			Lids: []int{33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7},
		},
		{
			Outer: 263, Inner: 362, Upper: 386, Lower: 374, Iris: 473, Limbus: []int{474, 475, 476, 477},
			Lids: []int{263, 466, 388, 387, 386, 385, 384, 398, 362, 382, 381, 380, 374, 373, 390, 249},
		},
	},
	Lips: [2][]int{
		{61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146},
		{78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95},
	},
	// The nearest points to ICT-FaceKit's 68 once the canonical head is laid over its mean head, where they lie on the same line of the face; the
	// outline of the jaw follows the mesh's own.
	MultiPIE: [68]int{
		127, 234, 93, 132, 172, 136, 149, 148, 152, 377, 378, 365, 397, 361, 323, 454, 356, // jaw
		70, 63, 105, 66, 107, 336, 296, 334, 293, 300, // brows
		168, 197, 195, 4, 98, 97, 2, 326, 327, // nose
		33, 160, 158, 133, 153, 144, 362, 385, 387, 263, 373, 380, // eyes
		61, 39, 37, 0, 267, 269, 291, 321, 314, 17, 84, 91, // lips, outside
		78, 81, 13, 311, 308, 402, 14, 178, // and inside
	},
	InterocularMM: 63.0,
	// The corners that the networks find lie deeper than those of a mean head (see ICT): in clips of people who nod at somebody, gaze is steadiest with
	// 0.15 to 0.55 cm behind them.
	EyeBack: 0.45, EyeUp: 0.2,
	Stable: stable([]Weighted{
		{10, 0.4}, {151, 0.6}, {9, 0.7}, {8, 0.8}, // hairline to glabella
		{168, 1}, {6, 1}, {197, 1}, {195, 1}, {5, 1}, // bridge of the nose
		{4, 1}, {1, 0.8}, {2, 0.6}, // tip, base
	}, []mirrored{
		{33, 263, 1},    // outer corner of the eye
		{133, 362, 1},   // inner corner of the eye
		{193, 417, 0.8}, // side of the bridge, upper
		{122, 351, 0.8}, // side of the bridge, middle
		{236, 456, 0.7}, // side of the bridge, lower
		{198, 420, 0.6}, // above the wing of the nose
		{129, 358, 0.6}, // crease of the wing
		{119, 348, 0.4}, // lower rim of the orbit
		{117, 346, 0.5}, // cheekbone, front
		{111, 340, 0.5}, // cheekbone, under the outer corner
		{143, 372, 0.5}, // outer rim of the orbit
		{116, 345, 0.4}, // cheekbone, side
		{127, 356, 0.3}, // temple at eye level
		{234, 454, 0.3}, // front of the ear
		{54, 284, 0.3},  // temple under the hairline
		{67, 297, 0.4},  // forehead under the hairline
		{104, 333, 0.5}, // forehead, side
	}),
}
