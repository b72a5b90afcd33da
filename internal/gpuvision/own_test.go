package gpuvision

import (
	"testing"

	"facetrack/infer/onnx"
	"facetrack/internal/models"
	"facetrack/internal/testmodels"
	"facetrack/topology"
	"facetrack/vision"
)

// A network of our own kind, which scores blendshapes itself, through all that the public kind goes through.
func TestFindOfOurOwnKindIsVisions(t *testing.T) {
	r := newRig(t)
	var err error
	r.points, err = onnx.Load(testmodels.Face())
	r.must(err)
	r.shapes = nil
	r.findIsVisions(topology.ICT)
}

// The networks that are part of the program, on a picture of no meaning to them: every region counts as a face.
func TestOwnNetworks(t *testing.T) {
	r := newRig(t)
	store, err := models.NewStore()
	r.must(err)
	graphs, err := store.LandmarkGraphs(models.OwnFace, false)
	r.must(err)
	r.points, r.shapes = graphs.Points, graphs.Blendshapes
	everything := vision.LandmarkerOptions{PresenceThreshold: -1, Retries: -1}
	views := r.views()[:1]
	want := r.expected(views, everything)
	for precision, b := range bounds {
		x := r.newLandmarker(everything, Options{Precision: precision, MaxBatch: 3})
		found, err := x.Find([]Look{{Frame{Image: views[0].image}, views[0].rois}})
		r.must(err)
		r.compareAll(found, want, b)
	}

	kind, graph, err := store.DetectorGraph(models.OwnDetector, false)
	r.must(err)
	v, err := vision.NewDetector(kind, r.reference(graph), vision.DetectorOptions{ScoreThreshold: 0.01, MaxFaces: 8})
	r.must(err)
	faces, err := v.Detect(views[0].image)
	r.must(err)
	x, err := NewDetector(r.device, kind, graph, vision.DetectorOptions{ScoreThreshold: 0.01, MaxFaces: 8}, Options{Precision: "fp32", MaxBatch: 1})
	r.must(err)
	sights, err := x.Detect([]Frame{{Image: views[0].image}})
	r.must(err, sights[0].Err, x.Close())
	r.compareFaces(sights[0].Faces, faces, 1e-2, 0.999)
}
