package vision

import (
	"math"
	"testing"

	"facetrack/internal/models"
)

// On real faces our own networks, which have seen none, find what the public ones find: the box, and the 68 points that both sets have.
func TestOwnNetworksOnRealFaces(t *testing.T) {
	public, own := newTestDetector(t, "yunet_n_320_320.onnx", DetectorOptions{}), detectorOf(t, models.OwnDetector, DetectorOptions{})
	publicPoints, ownPoints := newTestLandmarker(t), landmarkerOf(t, models.OwnFace)
	for _, name := range []string{"astronaut.png", "sergey.png"} {
		m := readPicture(t, name)
		want := detect(t, public, m)[0]
		best := Face{}
		for _, f := range detect(t, own, m) {
			if f.Box.IoU(want.Box) > best.Box.IoU(want.Box) {
				best = f
			}
		}
		if best.Box.IoU(want.Box) < 0.4 {
			t.Errorf("%s: the best box %v, of the public network %v", name, best.Box, want.Box)
			continue
		}
		a, _ := settle(t, publicPoints, m, ROIFromFace(want), 3)
		b, shift := settle(t, ownPoints, m, ROIFromFace(best), 4)
		pa, pb := publicPoints.Topology().MultiPIE, ownPoints.Topology().MultiPIE
		eyes := math.Hypot(a.Points[pa[45]][0]-a.Points[pa[36]][0], a.Points[pa[45]][1]-a.Points[pa[36]][1])
		sum := 0.0
		for i := range pa {
			p, q := a.Points[pa[i]], b.Points[pb[i]]
			sum += math.Hypot(p[0]-q[0], p[1]-q[1]) / eyes / float64(len(pa))
		}
		t.Logf("%s: presence %.4f, 68 points %.3f distances of the eyes from the public network's, region moves by %.2f px", name, b.Presence, sum, shift)
		if b.Presence < 0.9 || sum > 0.1 || shift > 0.02*b.ROI.Size || len(b.Blendshapes) != 52 {
			t.Errorf("%s: presence %.4f, off by %.3f, the region moves by %.1f of %.0f px", name, b.Presence, sum, shift, b.ROI.Size)
		}
	}
}
