package models

import (
	"errors"
	"fmt"
	"path/filepath"

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

// BlazeFace is the detector inside the default bundle; as a name it stands for that.
const BlazeFace = "blazeface"

// Options tell how to open a model.
type Options struct {
	Infer      infer.Options
	Unverified bool // accept a file given by its path that is none of the public models
}

// Detector opens a face detector: a YuNet by name, "blazeface", a bundle by name, or the path of an .onnx
// (YuNet), .task or .tflite (BlazeFace) file. kind is what vision.NewDetector wants. The caller closes the
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
		name = "face-landmarker"
	}
	data, found, err := s.Read(name, unverified)
	if err != nil {
		return "", nil, err
	}
	if kind, g, err = detectorGraph(data, found.Path); err != nil {
		return "", nil, fmt.Errorf("%w: %s as a face detector: %w", ErrContent, found.Path, err)
	}
	return kind, g, nil
}

func detectorGraph(data []byte, path string) (kind string, g *infer.Graph, err error) {
	switch filepath.Ext(path) {
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

// Landmarks are the sessions and the geometry of one bundle.
type Landmarks struct {
	Points      infer.Session
	Blendshapes infer.Session
	Face        *CanonicalFace
}

// Close closes both sessions.
func (l *Landmarks) Close() error { return errors.Join(l.Points.Close(), l.Blendshapes.Close()) }

// LandmarkGraphs are the graphs of one bundle.
type LandmarkGraphs struct{ Points, Blendshapes *infer.Graph }

// LandmarkGraphs are the graphs that Landmarks opens.
func (s *Store) LandmarkGraphs(name string, unverified bool) (LandmarkGraphs, error) {
	bundle, path, err := s.bundle(name, unverified)
	if err != nil {
		return LandmarkGraphs{}, err
	}
	return landmarkGraphs(bundle, path)
}

func (s *Store) bundle(name string, unverified bool) (*task.Bundle, string, error) {
	data, found, err := s.Read(name, unverified)
	if err != nil {
		return nil, "", err
	}
	bundle, err := task.Open(data)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s: %w", ErrContent, found.Path, err)
	}
	return bundle, found.Path, nil
}

func landmarkGraphs(bundle *task.Bundle, path string) (g LandmarkGraphs, err error) {
	if g.Points, err = member(bundle, landmarksMember); err == nil {
		g.Blendshapes, err = member(bundle, blendshapesMember)
	}
	if err != nil {
		return g, fmt.Errorf("%w: %s: %w", ErrContent, path, err)
	}
	return g, nil
}

// Landmarks opens a bundle, by name or path, for face points, blendshapes and head pose.
func (s *Store) Landmarks(name string, opts Options) (*Landmarks, error) {
	bundle, path, err := s.bundle(name, opts.Unverified)
	if err != nil {
		return nil, err
	}
	l := &Landmarks{}
	if l.Face, err = ReadCanonicalFace(bundle); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	graphs, err := landmarkGraphs(bundle, path)
	if err != nil {
		return nil, err
	}
	if l.Points, err = infer.Open(graphs.Points, opts.Infer); err != nil {
		return nil, err
	}
	if l.Blendshapes, err = infer.Open(graphs.Blendshapes, opts.Infer); err != nil {
		return nil, errors.Join(err, l.Points.Close())
	}
	return l, nil
}
