package testmodels

import (
	"os"
	"path/filepath"
)

// Files are the paths of written models, as a configuration names them. Landmarks are those of the public kind, Face of our own.
type Files struct{ Detector, Landmarks, Face string }

// Write puts the models into a folder.
func Write(dir string) (Files, error) {
	f := Files{Detector: filepath.Join(dir, "synthetic.onnx"), Landmarks: filepath.Join(dir, "synthetic.task"), Face: filepath.Join(dir, "face.onnx")}
	if err := os.WriteFile(f.Detector, Detector(), 0o600); err != nil {
		return f, err
	}
	if err := os.WriteFile(f.Landmarks, Bundle(), 0o600); err != nil {
		return f, err
	}
	return f, os.WriteFile(f.Face, Face(), 0o600)
}
