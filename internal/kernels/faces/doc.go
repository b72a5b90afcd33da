// Package faces holds the GPU kernels behind the networks: package vision's decoding of both detectors, suppression and merging
// of their candidates, and what it makes of face points, so that only boxes, points and scores come back to the host.
//
// A detector's outputs become candidates (DecodeYuNet, DecodeBlazeFace) and those a record of faces for each frame (Reduce), in
// pixels of the frame. A landmark network's outputs become a record for each face (Points) and, unless it scores blendshapes itself, the
// input of the blendshape network, whose scores are added to the record (Collect); image.Appearance writes into the record too. One download brings all records.
//
// Sums are made in float64, in vision's order where a threshold depends on them; records are float32.
package faces
