package image

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"facetrack/vision"
)

// look is a region of a frame.
type look struct {
	image vision.Image
	roi   vision.ROI
}

// regions uploads each frame and describes all regions.
func (r *rig) regions(looks []look, size int) uint64 {
	r.Helper()
	var list []byte
	at := map[*byte]uint64{}
	for _, l := range looks {
		m := l.image
		if at[&m.Pix[0]] == 0 {
			at[&m.Pix[0]] = r.put(m.Pix, 0)
		}
		var err error
		list, err = AppendRegion(list, Frame{Address: at[&m.Pix[0]], Format: m.Format, Width: m.Width, Height: m.Height}, l.roi, size)
		r.must(err)
	}
	if len(list) != len(looks)*RegionBytes {
		r.Fatalf("%d regions are %d bytes", len(looks), len(list))
	}
	return r.put(list, 0)
}

func (r *rig) compareCrop(looks []look, norm vision.Normalization, size int, halves bool, offset int) {
	r.Helper()
	regions, to := r.regions(looks, size), r.target(size, len(looks), halves, offset)
	r.must(r.set.Crop(r.stream, regions, len(looks), norm, to))
	got := r.images(to, len(looks))
	for i, l := range looks {
		c, err := vision.NewCropper(size, norm)
		r.must(err)
		want := make([]float32, size*size*3)
		r.must(c.Fill(want, l.image, l.roi))
		r.same(fmt.Sprintf("region %d, %s %d×%d, %+v", i, l.image.Format, l.image.Width, l.image.Height, l.roi), got[i], want, halves)
	}
	r.taken = 0
}

var rois = []vision.ROI{
	{CX: 32, CY: 24, Size: 20},
	{CX: 30.2, CY: 25.9, Size: 33.3, Rotation: -0.52},
	{CX: 0, CY: 0, Size: 30, Rotation: 1},             // over a corner
	{CX: 62, CY: 46, Size: 90, Rotation: 3},           // around the frame, 2×2 samples
	{CX: 31, CY: 21, Size: 50.5, Rotation: 0.7},       // inside or nearly so, 2×2 samples
	{CX: -200, CY: 300, Size: 40, Rotation: -2},       // nothing of it in the frame
	{CX: 32, CY: 24, Size: 48, Rotation: math.Pi / 2}, // along the columns
	{CX: 63.5, CY: 47.5, Size: 1, Rotation: 0.1},      // one pixel
	{CX: 100000, CY: -100000, Size: 131072, Rotation: 4},
}

func TestCropIsVisions(t *testing.T) {
	r := newRig(t)
	var looks []look
	for i, f := range formats {
		for _, side := range [][2]int{{64, 48}, {63, 47}, {2, 1}} {
			m := noise(f, side[0], side[1], uint64(i))
			for _, roi := range rois {
				looks = append(looks, look{m, roi})
			}
		}
	}
	for i, norm := range []vision.Normalization{vision.BGR255, vision.RGBSigned, vision.RGBUnit} {
		r.compareCrop(looks, norm, 24, i == 1, 4*i)
	}
	r.compareCrop(looks[:9], vision.RGBUnit, 37, false, 0) // a side that no tile divides
	r.compareCrop(looks[:9], vision.RGBUnit, 37, true, 2)
	r.compareCrop(looks[:9], vision.RGBUnit, 1, false, 0)
}

// Faces of several cameras in one launch, at the size of the landmark network.
func TestCropOfCameras(t *testing.T) {
	r := newRig(t)
	hd, vga, wide := drawn(t, vision.NV12, 1920, 1080), drawn(t, vision.BGR, 640, 480), drawn(t, vision.YUYV, 800, 600)
	looks := []look{
		{hd, vision.ROI{CX: 960.3, CY: 540.8, Size: 411.7, Rotation: 0.2}},
		{vga, vision.ROI{CX: 320, CY: 240, Size: 150, Rotation: -0.4}},
		{wide, vision.ROI{CX: 780, CY: 20, Size: 200, Rotation: 2.9}},
		{hd, vision.ROI{CX: 400, CY: 300, Size: 192}},
	}
	r.compareCrop(looks, vision.RGBUnit, 192, false, 0)
	r.compareCrop(looks, vision.RGBUnit, 192, true, 0)
}

func TestRegionsThatCannotBeCut(t *testing.T) {
	frame := Frame{Address: 512, Format: vision.NV12, Width: 64, Height: 48}
	good := vision.ROI{CX: 32, CY: 24, Size: 20}
	for _, c := range []struct {
		frame Frame
		roi   vision.ROI
		size  int
		want  error
	}{
		{frame, vision.ROI{CX: math.NaN(), Size: 20}, 192, vision.ErrROI},
		{frame, vision.ROI{Size: 0.5}, 192, vision.ErrROI},
		{Frame{Address: 512, Format: vision.NV12, Width: 63, Height: 48}, good, 192, vision.ErrImage},
		{Frame{Address: 513, Format: vision.BGR, Width: 63, Height: 48}, good, 192, ErrLaunch},
		{Frame{Format: vision.BGR, Width: 63, Height: 48}, good, 192, ErrLaunch},
		{frame, good, 0, ErrLaunch},
	} {
		if list, err := AppendRegion(nil, c.frame, c.roi, c.size); !errors.Is(err, c.want) || len(list) != 0 {
			t.Errorf("%+v: %d bytes, %v", c, len(list), err)
		}
	}
	var s Set
	if err := s.Crop(nil, 0, 1<<20, vision.BGR255, Target{Size: 32}); !errors.Is(err, ErrLaunch) {
		t.Errorf("too many regions: %v", err)
	}
	if err := s.Appearance(nil, 0, 0, 1, 0, 100); !errors.Is(err, ErrLaunch) {
		t.Errorf("descriptors that overlap: %v", err)
	}
}
