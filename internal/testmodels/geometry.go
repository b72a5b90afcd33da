package testmodels

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// headCM is how wide a drawn head is.
const headCM = 16

// geometry is the bundle's canonical face: the template as a shallow dome, x to the right in the image, y up,
// z towards the viewer.
func geometry() []byte {
	var vertices []byte
	for _, p := range Template() {
		for _, v := range [5]float64{p[0] * headCM, -p[1] * headCM, -p[2] * headCM, 0, 0} {
			vertices = protowire.AppendFixed32(vertices, math.Float32bits(float32(v)))
		}
	}
	mesh := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), vertices)
	data := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), mesh)
	for _, index := range []uint64{10, 33, 152, 234, 263, 454} {
		basis := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), index)
		basis = protowire.AppendFixed32(protowire.AppendTag(basis, 2, protowire.Fixed32Type), math.Float32bits(1))
		data = protowire.AppendBytes(protowire.AppendTag(data, 2, protowire.BytesType), basis)
	}
	return data
}
