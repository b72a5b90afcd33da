package models

import (
	"errors"
	"fmt"

	"facetrack/infer"
	"facetrack/infer/onnx"
	"facetrack/infer/task"
	"facetrack/infer/tflite"
)

// The bundle's networks.
const (
	detectorMember    = "face_detector.tflite"
	landmarksMember   = "face_landmarks_detector.tflite"
	blendshapesMember = "face_blendshapes.tflite"
)

const defaultBundle = "face-landmarker"

// BlazeFace is the detector inside the default bundle; as a name it stands for that.
const BlazeFace = "blazeface"

// Options tell how to open a model.
type Options struct {
	Infer      infer.Options
	Unverified bool // accept a file given by its path that is none of the public models
}

// Detector opens a face detector: a YuNet or our own by name, "blazeface", a bundle by name, or the path of an .onnx
// (YuNet's outputs), .task or .tflite (BlazeFace) file. kind is what vision.NewDetector wants. The caller closes the
// session.
func (s *Store) Detector(name string, opts Options) (kind string, session infer.Session, err error) {
	kind, graph, err := s.DetectorGraph(name, opts.Unverified)
	if err != nil {
		return "", nil, err
	}
	session, err = infer.Open(graph, opts.Infer)
	return kind, session, err
}

// DetectorGraph is the graph that Detector opens.
func (s *Store) DetectorGraph(name string, unverified bool) (kind string, g *infer.Graph, err error) {
	if name == BlazeFace {
		name = defaultBundle
	}
	data, found, err := s.Read(name, unverified)
	if err != nil {
		return "", nil, err
	}
	if kind, g, err = detectorGraph(data, found.extension()); err != nil {
		return "", nil, fmt.Errorf("%w: %s as a face detector: %w", ErrContent, found.Path, err)
	}
	return kind, g, nil
}

func detectorGraph(data []byte, extension string) (kind string, g *infer.Graph, err error) {
	switch extension {
	case ".onnx":
		g, err = onnx.Load(data)
		return string(YuNet), g, err
	case ".tflite":
		g, err = tflite.Load(data)
		return BlazeFace, g, err
	case ".task":
		bundle, err := task.Open(data)
		if err != nil {
			return "", nil, err
		}
		g, err = member(bundle, detectorMember)
		return BlazeFace, g, err
	}
	return "", nil, errors.New("the file must be an .onnx, .tflite or .task")
}

func member(bundle *task.Bundle, name string) (*infer.Graph, error) {
	data, ok := bundle.Member(name)
	if !ok {
		return nil, fmt.Errorf("the bundle has no member %s", name)
	}
	g, err := tflite.Load(data)
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	return g, nil
}

// Landmarks are the sessions of a landmark model.
type Landmarks struct {
	Points      infer.Session
	Blendshapes infer.Session // nil where Points scores them itself
}

// Close closes the sessions.
func (l *Landmarks) Close() error {
	if l.Blendshapes == nil {
		return l.Points.Close()
	}
	return errors.Join(l.Points.Close(), l.Blendshapes.Close())
}

// LandmarkGraphs are the graphs of a landmark model.
type LandmarkGraphs struct{ Points, Blendshapes *infer.Graph }

// LandmarkGraphs are the graphs that Landmarks opens.
func (s *Store) LandmarkGraphs(name string, unverified bool) (g LandmarkGraphs, err error) {
	data, found, err := s.Read(name, unverified)
	if err != nil {
		return g, err
	}
	if found.extension() == ".onnx" {
		g.Points, _, err = faceNetwork(data, found.Path)
		return g, err
	}
	bundle, err := task.Open(data)
	if err == nil {
		g.Points, err = member(bundle, landmarksMember)
	}
	if err == nil {
		g.Blendshapes, err = member(bundle, blendshapesMember)
	}
	if err != nil {
		return g, fmt.Errorf("%w: %s: %w", ErrContent, found.Path, err)
	}
	return g, nil
}

// Landmarks opens a bundle or a face network, by name or path, for face points and blendshapes.
func (s *Store) Landmarks(name string, opts Options) (*Landmarks, error) {
	graphs, err := s.LandmarkGraphs(name, opts.Unverified)
	if err != nil {
		return nil, err
	}
	l := &Landmarks{}
	if l.Points, err = infer.Open(graphs.Points, opts.Infer); err != nil {
		return nil, err
	}
	if graphs.Blendshapes == nil {
		return l, nil
	}
	if l.Blendshapes, err = infer.Open(graphs.Blendshapes, opts.Infer); err != nil {
		return nil, errors.Join(err, l.Points.Close())
	}
	return l, nil
}
