package models

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"facetrack/infer/task"
	"facetrack/internal/testutil"
)

// metadata encodes a face of the given vertices (x y z u v each, one field a value) and basis.
func metadata(vertices []float32, basis map[uint64]float32) []byte {
	mesh := protowire.AppendTag(nil, 1, protowire.VarintType) // vertex type
	mesh = protowire.AppendVarint(mesh, 0)
	for _, v := range vertices {
		mesh = protowire.AppendTag(mesh, 3, protowire.Fixed32Type)
		mesh = protowire.AppendFixed32(mesh, math.Float32bits(v))
	}
	return face(mesh, basis)
}

// packed is metadata with all vertex values in one field.
func packed(vertices []float32, basis map[uint64]float32) []byte {
	var values []byte
	for _, v := range vertices {
		values = protowire.AppendFixed32(values, math.Float32bits(v))
	}
	mesh := protowire.AppendTag(nil, 3, protowire.BytesType)
	return face(protowire.AppendBytes(mesh, values), basis)
}

func face(mesh []byte, basis map[uint64]float32) []byte {
	var out []byte
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendBytes(out, mesh)
	for id, weight := range basis {
		var ref []byte
		ref = protowire.AppendTag(ref, 1, protowire.VarintType)
		ref = protowire.AppendVarint(ref, id)
		ref = protowire.AppendTag(ref, 2, protowire.Fixed32Type)
		ref = protowire.AppendFixed32(ref, math.Float32bits(weight))
		out = protowire.AppendTag(out, 2, protowire.BytesType)
		out = protowire.AppendBytes(out, ref)
	}
	out = protowire.AppendTag(out, 3, protowire.VarintType) // input source
	return protowire.AppendVarint(out, 1)
}

var (
	threeVertices = []float32{1, 2, 3, 0, 0, -1, 2, 3, 1, 0, 0, -4, 5, 0, 1}
	threeBasis    = map[uint64]float32{0: 0.5, 1: 0.25, 2: 0.125}
)

func TestParseCanonicalFace(t *testing.T) {
	for _, data := range [][]byte{metadata(threeVertices, threeBasis), packed(threeVertices, threeBasis)} {
		f, err := parseCanonicalFace(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Vertices) != 3 || f.Vertices[2] != [3]float64{0, -4, 5} || len(f.Basis) != 3 {
			t.Fatalf("parsed %+v", f)
		}
		for _, p := range f.Basis {
			if p.Weight != float64(threeBasis[uint64(p.Index)]) {
				t.Errorf("basis point %+v", p)
			}
		}
	}
}

func TestParseCanonicalFaceRefusesNonsense(t *testing.T) {
	good := metadata(threeVertices, threeBasis)
	nan := append([]float32(nil), threeVertices...)
	nan[1] = float32(math.NaN())
	for name, data := range map[string][]byte{
		"empty":         nil,
		"truncated":     good[:len(good)-20],
		"noise":         {0xff, 0xff, 0xff, 0xff},
		"not a vertex":  metadata(threeVertices[:14], threeBasis),
		"no basis":      metadata(threeVertices, nil),
		"basis outside": metadata(threeVertices, map[uint64]float32{0: 1, 1: 1, 3: 1}),
		"basis far out": metadata(threeVertices, map[uint64]float32{0: 1, 1: 1, 1 << 40: 1}),
		"zero weight":   metadata(threeVertices, map[uint64]float32{0: 1, 1: 1, 2: 0}),
		"NaN vertex":    metadata(nan, threeBasis),
	} {
		if f, err := parseCanonicalFace(data); !errors.Is(err, ErrContent) {
			t.Errorf("%s: %+v, error %v; want ErrContent", name, f, err)
		}
	}
}

func TestCanonicalFaceOfTheBundle(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testutil.Assets(t), "models", "face_landmarker_v2_with_blendshapes.task"))
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := task.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadCanonicalFace(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Vertices) != 468 {
		t.Fatalf("%d vertices, want 468", len(f.Vertices))
	}
	right, left, nose, chin, brow := f.Vertices[33], f.Vertices[263], f.Vertices[1], f.Vertices[152], f.Vertices[10]
	if d := left[0] - right[0]; d < 8 || d > 10 {
		t.Errorf("outer eye corners are %.1f cm apart along x, want 8 to 10 (x to the subject's left)", d)
	}
	if math.Abs(left[0]+right[0]) > 0.01 || math.Abs(nose[0]) > 0.01 {
		t.Errorf("not symmetric about x = 0: eyes at %v and %v, nose at %v", right[0], left[0], nose[0])
	}
	if brow[1] <= nose[1] || nose[1] <= chin[1] {
		t.Errorf("y is not up: forehead %v, nose %v, chin %v", brow[1], nose[1], chin[1])
	}
	if nose[2] <= right[2] || nose[2] <= chin[2] {
		t.Errorf("z is not towards the viewer: nose %v, eye %v, chin %v", nose[2], right[2], chin[2])
	}
}
