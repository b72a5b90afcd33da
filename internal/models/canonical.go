package models

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"facetrack/infer/task"
)

// geometryMember is the bundle's member with the canonical face.
const geometryMember = "geometry_pipeline_metadata_landmarks.binarypb"

// BasisPoint is a face point whose position tells head pose rather than expression.
type BasisPoint struct {
	Index  int     // of the face point
	Weight float64 // positive
}

// CanonicalFace is the mean face that head pose is measured against: x to the subject's left (right in an
// unmirrored image), y up, z out of the face towards the viewer.
type CanonicalFace struct {
	Vertices [][3]float64 // cm, by face point; 468, without irises
	Basis    []BasisPoint // weights of a Procrustes fit
}

// Field numbers of the metadata messages.
const (
	fieldMesh    protowire.Number = 1 // mesh of the metadata
	fieldBasis   protowire.Number = 2 // repeated weighted point of the metadata
	fieldVertex  protowire.Number = 3 // repeated float of the mesh: x y z u v
	fieldPointID protowire.Number = 1 // of a weighted point
	fieldWeight  protowire.Number = 2 // of a weighted point
)

const vertexFloats = 5

// ReadCanonicalFace reads the face geometry of a bundle. Errors wrap ErrContent.
func ReadCanonicalFace(bundle *task.Bundle) (*CanonicalFace, error) {
	data, ok := bundle.Member(geometryMember)
	if !ok {
		return nil, fmt.Errorf("%w: the bundle has no member %s; head pose needs it", ErrContent, geometryMember)
	}
	return parseCanonicalFace(data)
}

func parseCanonicalFace(data []byte) (*CanonicalFace, error) {
	face := &CanonicalFace{}
	err := eachField(data, func(num protowire.Number, v wireValue) error {
		switch num {
		case fieldMesh:
			return face.vertices(v.bytes)
		case fieldBasis:
			return face.basisField(v.bytes)
		}
		return nil
	})
	if err == nil {
		err = face.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrContent, geometryMember, err)
	}
	return face, nil
}

// vertices takes the mesh's vertex values, packed or one by one.
func (f *CanonicalFace) vertices(mesh []byte) error {
	var values []float64
	err := eachField(mesh, func(num protowire.Number, v wireValue) error {
		if num != fieldVertex {
			return nil
		}
		more, err := v.floats()
		values = append(values, more...)
		return err
	})
	if err != nil {
		return err
	}
	if len(values)%vertexFloats != 0 {
		return fmt.Errorf("%d vertex values, not a multiple of %d", len(values), vertexFloats)
	}
	for i := 0; i < len(values); i += vertexFloats {
		f.Vertices = append(f.Vertices, [3]float64{values[i], values[i+1], values[i+2]})
	}
	return nil
}

func (f *CanonicalFace) basisField(data []byte) error {
	var p BasisPoint
	err := eachField(data, func(num protowire.Number, v wireValue) error {
		switch num {
		case fieldPointID:
			p.Index = int(min(v.number, math.MaxInt32))
		case fieldWeight:
			p.Weight = float64(math.Float32frombits(uint32(v.number & math.MaxUint32)))
		}
		return nil
	})
	f.Basis = append(f.Basis, p)
	return err
}

func (f *CanonicalFace) check() error {
	if len(f.Vertices) == 0 || len(f.Basis) < 3 {
		return fmt.Errorf("%d vertices and %d basis points", len(f.Vertices), len(f.Basis))
	}
	for _, p := range f.Basis {
		if p.Index >= len(f.Vertices) || !(p.Weight > 0) || math.IsInf(p.Weight, 0) {
			return fmt.Errorf("basis point %d of %d vertices with weight %g", p.Index, len(f.Vertices), p.Weight)
		}
	}
	for i, v := range f.Vertices {
		for _, x := range v {
			if !(math.Abs(x) < 100) {
				return fmt.Errorf("vertex %d at %v cm", i, v)
			}
		}
	}
	return nil
}
