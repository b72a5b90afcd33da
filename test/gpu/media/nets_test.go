//go:build cuda

package media

import (
	"path/filepath"
	"testing"

	"facetrack/infer"
	"facetrack/internal/models"
	"facetrack/internal/testmodels"
	"facetrack/internal/testutil"
)

// nets are the networks under test.
type nets struct {
	detectors []detector
	landmarks models.LandmarkGraphs
}

type detector struct {
	name, kind string
	graph      *infer.Graph
	threshold  float64 // package vision's default
}

var thresholds = map[string]float64{"yunet": 0.6, "blazeface": 0.5}

func publicNets(t *testing.T) nets {
	t.Helper()
	testutil.Assets(t)
	return openNets(t, publicDetectors, "face-landmarker", false)
}

// drawnNets find the drawn faces of synthetic sources.
func drawnNets(t *testing.T) nets {
	t.Helper()
	files, err := testmodels.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return openNets(t, []string{files.Detector}, files.Landmarks, true)
}

func openNets(t *testing.T, detectors []string, landmarks string, own bool) (n nets) {
	t.Helper()
	store, err := models.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range detectors {
		kind, g, err := store.DetectorGraph(name, own)
		if err != nil {
			t.Fatal(err)
		}
		n.detectors = append(n.detectors, detector{filepath.Base(name), kind, g, thresholds[kind]})
	}
	if n.landmarks, err = store.LandmarkGraphs(landmarks, own); err != nil {
		t.Fatal(err)
	}
	return n
}
