package models

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"facetrack/topology"
)

// emptyStore has the real registry and no file.
func emptyStore(t *testing.T) *Store {
	t.Helper()
	dir := t.TempDir()
	return &Store{models: All(), dirs: []string{dir}, cache: dir}
}

func TestOwnModelsAreAlwaysHere(t *testing.T) {
	s := emptyStore(t)
	for _, name := range []string{OwnDetector, OwnFace} {
		if f, err := s.Verify(name); err != nil || f.Path != BuiltIn || f.Model.Name != name {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	kind, g, err := s.DetectorGraph(OwnDetector, false)
	if err != nil || kind != string(YuNet) || g.InputInfo()[0].Len() != 320*320*3 {
		t.Errorf("detector: kind %s, %v", kind, err)
	}
	graphs, err := s.LandmarkGraphs(OwnFace, false)
	if err != nil || graphs.Blendshapes != nil || graphs.Points.InputInfo()[0].Len() != 192*192*3 {
		t.Errorf("face network: %+v, %v", graphs, err)
	}
	set, head, err := s.Head(OwnFace, false)
	if err != nil || set != topology.ICT || len(head) != set.Count {
		t.Errorf("head: %v, %d points, %v", set, len(head), err)
	}
	l, err := s.Landmarks(OwnFace, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	present := 0
	if err := s.Fetch(context.Background(), []string{OwnFace}, func(p Progress) {
		if p.Present {
			present++
		}
	}); err != nil || present != 1 {
		t.Errorf("fetched although it is here: %d, %v", present, err)
	}
}

// Another network of the same kind is named by its path.
func TestFaceNetworkOfAPath(t *testing.T) {
	s := emptyStore(t)
	path := put(t, t.TempDir(), "mine.onnx", string(ownFace))
	if _, err := s.LandmarkGraphs(path, true); err != nil {
		t.Error(err)
	}
	if _, err := s.LandmarkGraphs(path, false); !errors.Is(err, ErrHash) {
		t.Errorf("not allowed: %v", err)
	}
	if _, err := s.LandmarkGraphs(OwnDetector, false); !errors.Is(err, ErrContent) {
		t.Errorf("a detector: %v", err)
	}
}

func TestChoiceOfModels(t *testing.T) {
	s := emptyStore(t)
	check := func(what, wantDetector, wantFace, why string) {
		t.Helper()
		detector, because := s.ChooseDetector()
		face, also := s.ChooseLandmarks()
		if detector != wantDetector || face != wantFace || !strings.Contains(because, why) && !strings.Contains(also, why) {
			t.Errorf("%s: %s (%s), %s (%s)", what, detector, because, face, also)
		}
	}
	check("nothing is here", OwnDetector, OwnFace, "not found: facetrack models fetch")
	damaged := put(t, s.dirs[0], "yunet_n_320_320.onnx", "damaged")
	check("a damaged file", OwnDetector, OwnFace, damaged+" has SHA-256")
	assets := assetStore(t)
	data, err := os.ReadFile(filepath.Join(assets.dirs[0], "yunet_n_320_320.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.dirs[0], "yunet_n_320_320.onnx", string(data))
	check("one of both", "yunet-320", OwnFace, "the public model is here")
	s = assets
	check("both", "yunet-320", "face-landmarker", "the public model is here")
}
