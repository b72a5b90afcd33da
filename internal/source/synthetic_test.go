package source

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// bgrOfFrame converts any frame to BGR by plain formulas, independent of how it was drawn.
func bgrOfFrame(pix []byte, format string, w, h int) []byte {
	out := make([]byte, 3*w*h)
	for i := range w * h {
		switch format {
		case NV12:
			o := w*h + i/w/2*w + i%w/2*2
			out[3*i], out[3*i+1], out[3*i+2] = bgrOf(pix[i], pix[o], pix[o+1])
		case YUYV:
			o := 2 * (i &^ 1)
			out[3*i], out[3*i+1], out[3*i+2] = bgrOf(pix[2*i], pix[o+1], pix[o+3])
		default:
			copy(out[3*i:], pix[3*i:3*i+3])
		}
	}
	return out
}

// redBlob returns the centroid and area of the pixels with red excess within radius of a point.
func redBlob(bgr []byte, w int, cx, cy, radius float64) (x, y, area float64) {
	for i := range len(bgr) / 3 {
		px, py := float64(i%w)+0.5, float64(i/w)+0.5
		if math.Hypot(px-cx, py-cy) > radius {
			continue
		}
		if int(bgr[3*i+2]) > int(max(bgr[3*i], bgr[3*i+1]))+80 {
			x, y, area = x+px, y+py, area+1
		}
	}
	return x / area, y / area, area
}

func TestSyntheticTruthMatchesPixels(t *testing.T) {
	for _, format := range []string{BGR, NV12, YUYV} {
		spec := fmt.Sprintf("synthetic:faces=3,size=640x480,frames=200,format=%s,seed=5", format)
		params, err := ParseSynthetic(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, spec, Options{})
		for _, frame := range []int64{0, 57, 150} {
			fresh := mustOpen(t, spec, Options{})
			if err := fresh.Skip(frame); err != nil {
				t.Fatal(err)
			}
			bgr := bgrOfFrame(next(t, fresh), format, 640, 480)
			for _, f := range SyntheticTruth(params, frame) {
				// Eyes and mouth are symmetric about the vertical axis only, and cover about 5 % of the disc.
				x, y, area := redBlob(bgr, 640, f.CX, f.CY, f.Size/2+3)
				full := math.Pi * f.Size * f.Size / 4
				if math.Abs(x-f.CX) > 0.5 || math.Abs(y-f.CY) > 1.5 || area < 0.9*full || area > full {
					t.Errorf("%s frame %d face %d: blob %.1f,%.1f area %.0f, truth %.1f,%.1f area %.0f", format, frame, f.ID, x, y, area, f.CX, f.CY, full)
				}
				for _, dark := range [][2]float64{f.RightEye, f.LeftEye, f.Mouth} {
					if o := 3 * (int(dark[1])*640 + int(dark[0])); bgr[o+2] > 90 {
						t.Errorf("%s frame %d face %d: no dark feature at %v", format, frame, f.ID, dark)
					}
				}
			}
		}
		mustClose(t, s)
	}
}

func TestSyntheticBackgroundHasNoRedExcess(t *testing.T) {
	pix := next(t, mustOpen(t, "synthetic:faces=0", Options{}))
	for i := 0; i < len(pix); i += 3 {
		if pix[i+2] > min(pix[i], pix[i+1]) {
			t.Fatalf("pixel %d is %v", i/3, pix[i:i+3])
		}
	}
	with := next(t, mustOpen(t, "synthetic:faces=4,diameter=80", Options{}))
	params, err := ParseSynthetic("synthetic:faces=4,diameter=80")
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(pix) / 3 {
		outside := true
		for _, f := range SyntheticTruth(params, 0) {
			outside = outside && math.Hypot(float64(i%640)+0.5-f.CX, float64(i/640)+0.5-f.CY) > f.Size/2+1
		}
		if outside && !bytes.Equal(pix[3*i:3*i+3], with[3*i:3*i+3]) {
			t.Fatalf("pixel %d,%d lies outside every face and was drawn on", i%640, i/640)
		}
	}
}

func TestSyntheticFacesKeepApartAndInside(t *testing.T) {
	for _, spec := range []string{"synthetic:faces=2", "synthetic:faces=5,size=1920x1080", "synthetic:faces=16,size=320x240,seed=9"} {
		p, err := ParseSynthetic(spec)
		if err != nil {
			t.Fatal(err)
		}
		for frame := range int64(2000) {
			faces := SyntheticTruth(p, frame)
			for i, f := range faces {
				r := f.Size / 2
				if f.CX-r < 8 || f.CY-r < 8 || f.CX+r > float64(p.Width)-8 || f.CY+r > float64(p.Height)-8 {
					t.Fatalf("%s frame %d: face %d leaves the frame: %+v", spec, frame, i, f)
				}
				for _, o := range faces[:i] {
					if math.Hypot(f.CX-o.CX, f.CY-o.CY) < f.Size {
						t.Fatalf("%s frame %d: faces %d and %d overlap", spec, frame, i, o.ID)
					}
				}
			}
		}
	}
}

func TestSyntheticCrossingFacesMeet(t *testing.T) {
	p, err := ParseSynthetic("synthetic:faces=2,cross=1,seed=2")
	if err != nil {
		t.Fatal(err)
	}
	nearest := math.Inf(1)
	for frame := range int64(3000) {
		f := SyntheticTruth(p, frame)
		nearest = min(nearest, math.Hypot(f[0].CX-f[1].CX, f[0].CY-f[1].CY))
	}
	if nearest > p.Diameter/2 {
		t.Errorf("crossing faces come no nearer than %.0f px", nearest)
	}
}

func TestSyntheticMotionIsSmooth(t *testing.T) {
	p, err := ParseSynthetic("synthetic:faces=2")
	if err != nil {
		t.Fatal(err)
	}
	before := SyntheticTruth(p, 0)
	for frame := int64(1); frame < 600; frame++ {
		now := SyntheticTruth(p, frame)
		for i := range now {
			if d := math.Hypot(now[i].CX-before[i].CX, now[i].CY-before[i].CY); d > 15 {
				t.Fatalf("face %d jumps %.0f px at frame %d", i, d, frame)
			}
		}
		before = now
	}
}

func TestSyntheticIndex(t *testing.T) {
	for _, format := range []string{BGR, NV12, YUYV} {
		s := mustOpen(t, "synthetic:size=160x120,format="+format, Options{})
		for _, skip := range []int64{0, 1, 0x12345678, 0xA5A5A5} {
			before := s.(*synthetic).at
			if err := s.Skip(skip); err != nil {
				t.Fatal(err)
			}
			got, err := SyntheticIndex(next(t, s), format, 160)
			if want := uint32(before + skip); err != nil || got != want {
				t.Errorf("%s: index %d, want %d, %v", format, got, want, err)
			}
		}
	}
	_, err := SyntheticIndex(make([]byte, 10), BGR, 640)
	wantError(t, err, ErrBuffer)
	_, err = SyntheticIndex(bytes.Repeat([]byte{128}, 640*480*3), BGR, 640)
	wantError(t, err, ErrCorrupt, "cell 0")
}

func TestSyntheticContract(t *testing.T) {
	checkContract(t, 5, func() Source { return mustOpen(t, "synthetic:faces=2,frames=5,size=320x240,cross=1", Options{}) })
}

func TestSyntheticSpecErrors(t *testing.T) {
	for spec, parts := range map[string][]string{
		"synthetic:face=2":               {`"face"`, "cross, diameter, faces, format, fps, frames, seed, size"},
		"synthetic:faces=x":              {"faces=x", "from 0 to 16"},
		"synthetic:faces=17":             {"from 0 to 16"},
		"synthetic:size=641x480":         {"WIDTHxHEIGHT"},
		"synthetic:size=640":             {"WIDTHxHEIGHT"},
		"synthetic:size=100x100":         {"160x120"},
		"synthetic:fps=0":                {"fps=0"},
		"synthetic:fps=NaN":              {"fps=NaN"},
		"synthetic:format=RGB":           {"BGR, NV12 or YUYV"},
		"synthetic:seed=-1":              {"seed=-1"},
		"synthetic:cross=maybe":          {"cross=maybe"},
		"synthetic:diameter=400,faces=2": {"no room", "at most"},
	} {
		openError(t, spec, ErrSpec, parts...)
	}
}

func TestSyntheticDefaults(t *testing.T) {
	p, err := ParseSynthetic("synthetic")
	want := SyntheticParams{Faces: 1, Width: 640, Height: 480, FPS: 30, Frames: -1, Seed: 1, Format: BGR, Diameter: 96}
	if err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
	p, err = ParseSynthetic("synthetic:faces=2,size=1280x720,fps=60,frames=9,seed=3,format=nv12,cross=1")
	want = SyntheticParams{Faces: 2, Width: 1280, Height: 720, FPS: 60, Frames: 9, Seed: 3, Format: NV12, Diameter: 144, Cross: true}
	if err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
}
