package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of this package; messages name the file and the cure.
var (
	ErrUnknown  = errors.New("models: unknown model")
	ErrMissing  = errors.New("models: not found")
	ErrHash     = errors.New("models: wrong content")
	ErrDownload = errors.New("models: download failed")
	ErrContent  = errors.New("models: cannot be used")
)

// Kind tells what a file holds.
type Kind string

// The kinds of model files.
const (
	YuNet  Kind = "yunet"           // ONNX face detector
	Bundle Kind = "face-landmarker" // zip of BlazeFace, face points, blendshapes and face geometry
	Face   Kind = "face"            // ONNX network of face points, blendshapes and rotation, see vision.FaceOutputs
)

// Model is one model file: a public one, or one of our own, which is part of the program.
type Model struct {
	Name     string
	File     string // file name in every folder that is searched
	URL      string // pinned origin; of public models
	SHA256   string // lower-case hexadecimal; of public models
	Licence  string
	Kind     Kind
	Optional bool   // fetched only when named
	Content  []byte // of our own models
}

const (
	mediapipe = "https://raw.githubusercontent.com/google-ai-edge/mediapipe/0179f0c4566ae78e02e1198cb73c60e4668395b5/"
	yunet     = "https://raw.githubusercontent.com/ShiqiYu/libfacedetection.train/0047ac24afb1a50a0c6105001c89d1b5b805dbf1/"
	storage   = "https://storage.googleapis.com/mediapipe-models/"
)

var public = []Model{
	{
		Name: "face-landmarker", File: "face_landmarker_v2_with_blendshapes.task", Kind: Bundle, Licence: "Apache-2.0",
		URL:    mediapipe + "mediapipe/tasks/testdata/vision/face_landmarker_v2_with_blendshapes.task",
		SHA256: "b261925d4aad812b47a0e8d58c1baa1223270a5d1f663d78338bc881c003879d",
	},
	{
		Name: "yunet-320", File: "yunet_n_320_320.onnx", Kind: YuNet, Licence: "Apache-2.0",
		URL:    yunet + "onnx/yunet_n_320_320.onnx",
		SHA256: "81dbde155e982455488235acb8ec2dec5d647edf7cf7080d33e4abb69b93a0d2",
	},
	{
		Name: "yunet-640", File: "yunet_n_640_640.onnx", Kind: YuNet, Licence: "Apache-2.0",
		URL:    yunet + "onnx/yunet_n_640_640.onnx",
		SHA256: "25a606a145a5b6d7271ae138fbd00eba91dad8b83222ae3f2c7ecd0f4a7b0e31",
	},
	{
		Name: "face-landmarker-large", File: "face_landmarker.task", Kind: Bundle, Licence: "Apache-2.0", Optional: true,
		URL:    storage + "face_landmarker/face_landmarker/float16/1/face_landmarker.task",
		SHA256: "64184e229b263107bc2b804c6625db1341ff2bb731874b0bcc2fe6544e0bc9ff",
	},
}

// All lists the models: the public ones, then our own.
func All() []Model { return slices.Concat(public, own) }

func (s *Store) lookup(name string) (Model, error) {
	names := make([]string, len(s.models))
	for i, m := range s.models {
		if m.Name == name {
			return m, nil
		}
		names[i] = m.Name
	}
	return Model{}, fmt.Errorf("%w %q: use %s, or the path of a file", ErrUnknown, name, strings.Join(names, ", "))
}
