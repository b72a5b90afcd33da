package testmodels

import (
	"os"
	"path/filepath"
)

// Files are the paths of written models, as a configuration names them.
type Files struct{ Detector, Landmarks string }

// Write puts both models into a folder.
func Write(dir string) (Files, error) {
	f := Files{Detector: filepath.Join(dir, "synthetic.onnx"), Landmarks: filepath.Join(dir, "synthetic.task")}
	if err := os.WriteFile(f.Detector, Detector(), 0o600); err != nil {
		return f, err
	}
	return f, os.WriteFile(f.Landmarks, Bundle(), 0o600)
}
