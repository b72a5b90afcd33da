package topology

// ICT are the points of the project's own face network, those of training/points.json in their order. The first 68 are Multi-PIE's.
var ICT = &Topology{
	Name: "facetrack-ict-293", Count: len(ictHead),
	Eyes: [2]Eye{
		{
			Outer: 36, Inner: 39, Upper: 75, Lower: 93, Iris: 284, Limbus: []int{285, 286, 287, 288, 289, 290, 291, 292},
			Lids: []int{36, 83, 81, 79, 37, 77, 75, 38, 73, 71, 69, 39, 99, 97, 40, 95, 93, 91, 41, 89, 87, 85},
		},
		{
			Outer: 45, Inner: 42, Upper: 74, Lower: 92, Iris: 275, Limbus: []int{276, 277, 278, 279, 280, 281, 282, 283},
			Lids: []int{45, 82, 80, 78, 44, 76, 74, 43, 72, 70, 68, 42, 98, 96, 47, 94, 92, 90, 46, 88, 86, 84},
		},
	},
	Lips: [2][]int{
		{
			48, 131, 129, 49, 127, 125, 50, 123, 51, 122, 52, 124, 126, 53, 128, 130,
			54, 132, 134, 55, 136, 138, 56, 140, 142, 57, 143, 141, 58, 139, 137, 59, 135, 133,
		},
		{60, 149, 147, 61, 145, 62, 144, 63, 146, 148, 64, 150, 65, 152, 66, 153, 67, 151},
	},
	MultiPIE:      firstOnes(),
	InterocularMM: 63.0,
	// The mean head has it so once its eyeball, of radius 1.58 cm, is shrunk to 1.2 with its front in place. Sideways there is no offset.
	EyeBack: 0.6, EyeUp: 0.2,
	Stable: stable([]Weighted{
		{203, 0.4}, {196, 0.6}, {220, 0.7}, {217, 0.8}, // forehead to glabella
		{27, 1}, {174, 0.8}, {28, 1}, {175, 0.8}, {29, 1}, {176, 0.8}, {30, 1}, // bridge of the nose
		{195, 0.8}, {33, 0.6}, // tip, base
	}, []mirrored{
		{36, 45, 1},     // outer corner of the eye
		{39, 42, 1},     // inner corner of the eye
		{182, 181, 0.8}, // side of the bridge, upper
		{184, 183, 0.8}, // side of the bridge, middle
		{186, 185, 0.7}, // side of the bridge, lower
		{188, 187, 0.6}, // above the wing of the nose
		{192, 191, 0.6}, // crease of the wing
		{222, 221, 0.4}, // lower rim of the orbit
		{224, 223, 0.4}, // cheekbone, front
		{226, 225, 0.5}, // cheekbone, under the outer corner
		{228, 227, 0.5}, // cheekbone, side
		{256, 255, 0.5}, // outer rim of the orbit
		{258, 257, 0.3}, // temple
		{1, 15, 0.3},    // front of the ear
		{262, 261, 0.3}, // temple under the hairline
		{206, 205, 0.3}, // forehead, upper
		{198, 197, 0.5}, // forehead, middle
		{200, 199, 0.5}, // forehead, side
	}),
	head: func() [][3]float64 {
		head := make([][3]float64, len(ictHead))
		for i, p := range ictHead {
			head[i] = [3]float64{p.x, p.y, p.z}
		}
		return head
	},
}

func firstOnes() (first [68]int) {
	for i := range first {
		first[i] = i
	}
	return first
}
