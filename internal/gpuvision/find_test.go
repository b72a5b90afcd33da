package gpuvision

import (
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/internal/kernels/faces"
	"facetrack/internal/source"
	"facetrack/topology"
	"facetrack/vision"
)

// region is around a drawn face, moved by parts of its diameter.
func region(f source.FaceTruth, dx, dy float64) vision.ROI {
	return vision.ROI{CX: f.CX + dx*f.Size, CY: f.CY + dy*f.Size, Size: vision.Margin * f.Size, Rotation: 0.1}
}

// view is a picture and the regions to look at.
type view struct {
	image vision.Image
	rois  []vision.ROI
}

// views are pictures in all formats; some regions show a face, some a part of it, some none.
func (r *rig) views() (views []view) {
	r.Helper()
	for i, format := range []vision.Format{vision.BGR, vision.NV12, vision.YUYV} {
		m, truth := r.drawn(format, 640>>(i%2), 480>>(i%2), 2-i%2)
		rois := []vision.ROI{region(truth[0], 0, 0.02), region(truth[0], 0.75, 0), {CX: 9, CY: 9, Size: 30}}
		views = append(views, view{m, rois[:3-i]})
	}
	return views
}

func (r *rig) expected(views []view, v vision.LandmarkerOptions) (want [][]vision.FaceResult) {
	r.Helper()
	l := r.visionLandmarker(v)
	for _, v := range views {
		results, err := l.Run(v.image, v.rois)
		r.must(err)
		want = append(want, results)
	}
	return want
}

// bound is what results may differ by.
type bound struct{ pixels, presence, blendshapes, appearance float64 }

var bounds = map[string]bound{infer.FP32: {1e-3, 1e-4, 1e-4, 1e-3}, infer.FP16: {0.5, 0.01, 0.02, 0.02}}

func (r *rig) compareResult(got faces.Result, want vision.FaceResult, b bound) {
	r.Helper()
	scale := max(1, want.ROI.Size/192) // pixels of the network's input are larger in the frame then
	if d := off(got.Points, want.Points); !(d <= b.pixels*scale) {
		r.Errorf("points are off by %g px", d)
	}
	if d := math.Abs(got.Presence - want.Presence); !(d <= b.presence) {
		r.Errorf("presence %g, want %g", got.Presence, want.Presence)
	}
	if d := math.Abs(got.ROI.CX-want.ROI.CX) + math.Abs(got.ROI.Size-want.ROI.Size); !(d <= 2*b.pixels*scale) {
		r.Errorf("found in %+v, want %+v", got.ROI, want.ROI)
	}
	if next, err := want.Next(); got.HasNext != (err == nil) || !(math.Abs(got.Region.CX-next.CX)+math.Abs(got.Region.Size-next.Size) <= 4*b.pixels*scale) {
		r.Errorf("next region %+v, want %+v", got.Region, next)
	}
	r.compareList("blendshapes", got.Blendshapes, want.Blendshapes, b.blendshapes)
	r.compareList("appearance", got.Appearance, want.Appearance, b.appearance)
	r.compareList("confidence", got.Confidence, want.Confidence, b.blendshapes)
	if (got.Turn == nil) != (want.Turn == nil) {
		r.Fatalf("turn %v, want %v", got.Turn, want.Turn)
	}
	for i := 0; want.Turn != nil && i < 3; i++ {
		r.compareList("turn", got.Turn[i][:], want.Turn[i][:], b.blendshapes)
	}
}

func (r *rig) compareList(what string, got, want []float64, bound float64) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= bound) {
			r.Fatalf("%s: value %d is %g, want %g", what, i, got[i], w)
		}
	}
}

func (r *rig) compareAll(found []Found, want [][]vision.FaceResult, b bound) {
	r.Helper()
	for i, f := range found {
		r.must(f.Err)
		if len(f.Faces) != len(want[i]) {
			r.Fatalf("look %d: %d faces, want %d", i, len(f.Faces), len(want[i]))
		}
		for k, w := range want[i] {
			r.compareResult(f.Faces[k], w, b)
		}
	}
}

// Looks of the host and of the device, in batches that do not go up, with regions that have to be tried again.
func TestFindIsVisions(t *testing.T) {
	newRig(t).findIsVisions(topology.MediaPipe)
}

func (r *rig) findIsVisions(set *topology.Topology) {
	r.Helper()
	views := r.views()
	want := r.expected(views, vision.LandmarkerOptions{})
	if first := want[0][1]; first.ROI == views[0].rois[1] || first.Presence < 0.5 || want[0][2].Presence > 0.5 {
		r.Fatalf("nothing was tried again: %+v", first.ROI)
	}
	for precision, b := range bounds {
		x := r.newLandmarker(vision.LandmarkerOptions{}, Options{Precision: precision, MaxBatch: 4})
		waits := 0
		var looks []Look
		for i, v := range views {
			f := Frame{Image: v.image}
			if i != 1 {
				f = r.onDevice(v.image, &waits)
			}
			looks = append(looks, Look{f, v.rois})
		}
		looks = append(looks, Look{Frame: r.onDevice(views[0].image, &waits)}) // nobody to look for
		for range 2 {
			found, err := x.Find(looks)
			r.must(err)
			r.compareAll(found[:3], want, b)
			if len(found[3].Faces) != 0 || found[3].Err != nil {
				r.Errorf("without regions: %+v", found[3])
			}
			r.must(x.Capture(4), x.Capture(2), x.Capture(1))
		}
		if waits != 4 {
			r.Errorf("%d waits for 2 frames in 2 rounds", waits)
		}
		if x.Topology() != set || x.MaxBatch() != 4 {
			r.Errorf("%s, a batch of %d", x.Topology().Name, x.MaxBatch())
		}
		r.taken = 0
	}
}

// A region that went away, or became another face's, is not tried.
func TestNear(t *testing.T) {
	origin := vision.ROI{CX: 100, CY: 50, Size: 90}
	for _, c := range []struct {
		x, y, size float64
		want       bool
	}{{100, 50, 90, true}, {129, 50, 90, true}, {131, 50, 90, false}, {100, 19, 90, false}, {100, 50, 46, true}, {100, 50, 44, false}, {100, 50, 179, true}, {100, 50, 181, false}} {
		if (vision.ROI{CX: c.x, CY: c.y, Size: c.size}).Follows(origin) != c.want {
			t.Errorf("%+v: want %v", c, c.want)
		}
	}
}
