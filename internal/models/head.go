package models

import (
	"fmt"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/task"
	"facetrack/topology"
)

// Head returns the set of points that a landmark model puts out, and these on the mean head that poses are measured against: x to the
// subject's left, y up, z out of the face, cm. A bundle brings its head along, without irises.
func (s *Store) Head(name string, unverified bool) (*topology.Topology, [][3]float64, error) {
	data, found, err := s.Read(name, unverified)
	if err != nil {
		return nil, nil, err
	}
	if found.extension() == ".onnx" {
		_, set, err := faceNetwork(data, found.Path)
		if err != nil {
			return nil, nil, err
		}
		return set, set.Head(), nil
	}
	bundle, err := task.Open(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrContent, found.Path, err)
	}
	face, err := ReadCanonicalFace(bundle)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", found.Path, err)
	}
	return topology.MediaPipe, face.Vertices, nil
}

// faceNetwork loads an ONNX network whose set of points has a head of its own.
func faceNetwork(data []byte, path string) (*infer.Graph, *topology.Topology, error) {
	fail := func(err error) (*infer.Graph, *topology.Topology, error) {
		return nil, nil, fmt.Errorf("%w: %s as a face network: %w", ErrContent, path, err)
	}
	g, err := onnx.Load(data)
	if err != nil {
		return fail(err)
	}
	for _, o := range g.OutputInfo() {
		if set, ok := topology.OfCount(o.Len() / 3); ok && o.Len() == 3*set.Count && set.Head() != nil {
			return g, set, nil
		}
	}
	return fail(fmt.Errorf("outputs %v: none has the points of a set whose head is known", g.OutputInfo()))
}
