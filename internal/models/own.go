package models

import (
	_ "embed" // the networks' files
	"errors"
)

//go:embed own/detector.onnx
var ownDetector []byte

//go:embed own/face.onnx
var ownFace []byte

// Names of our own models, which training/ has trained on rendered pictures alone; own/MODEL-CARD.md describes them.
const (
	OwnDetector = "facetrack-detector"
	OwnFace     = "facetrack-face"
)

var own = []Model{
	{Name: OwnDetector, File: "detector.onnx", Kind: YuNet, Licence: "Apache-2.0", Content: ownDetector},
	{Name: OwnFace, File: "face.onnx", Kind: Face, Licence: "Apache-2.0", Content: ownFace},
}

// ChooseDetector returns the public detector if it is found with the right content, else our own, and why.
func (s *Store) ChooseDetector() (name, why string) { return s.choose("yunet-320", OwnDetector) }

// ChooseLandmarks is ChooseDetector for face points and blendshapes.
func (s *Store) ChooseLandmarks() (name, why string) { return s.choose(defaultBundle, OwnFace) }

func (s *Store) choose(public, own string) (name, why string) {
	_, err := s.Verify(public)
	switch {
	case err == nil:
		return public, "the public model is here"
	case errors.Is(err, ErrMissing):
		return own, "public model " + public + " not found: facetrack models fetch"
	}
	return own, err.Error()
}
