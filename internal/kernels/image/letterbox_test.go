package image

import (
	"errors"
	"fmt"
	"testing"

	"facetrack/vision"
)

// letterbox fits frames in one launch.
func (r *rig) letterbox(frames []vision.Image, norm vision.Normalization, size int, halves bool, offset int) [][]float32 {
	r.Helper()
	var items []byte
	for _, m := range frames {
		l, err := NewLetterbox(m.Format, m.Width, m.Height, size)
		r.must(err)
		items, err = l.Append(items, r.put(m.Pix, offset), r.put(l.Table(), 0))
		r.must(err)
	}
	if len(items) != len(frames)*LetterboxBytes {
		r.Fatalf("%d items are %d bytes", len(frames), len(items))
	}
	to := r.target(size, len(frames), halves, offset)
	r.must(r.set.Letterbox(r.stream, r.put(items, 0), len(frames), norm, to))
	return r.images(to, len(frames))
}

func (r *rig) compareLetterbox(frames []vision.Image, norm vision.Normalization, size int, halves bool, offset int) {
	r.Helper()
	got := r.letterbox(frames, norm, size, halves, offset)
	for i, m := range frames {
		l, err := vision.NewLetterboxer(size, norm)
		r.must(err)
		want := make([]float32, size*size*3)
		_, err = l.Fill(want, m)
		r.must(err)
		r.same(fmt.Sprintf("frame %d, %s %d×%d → %d", i, m.Format, m.Width, m.Height, size), got[i], want, halves)
	}
	r.taken = 0
}

func TestLetterboxIsVisions(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ w, h, size int }{
		{64, 48, 32}, // 2 : 1
		{96, 54, 32}, // 3 : 1, bars above and below
		{48, 80, 32}, // 2.5 : 1, bars at the sides
		{51, 37, 32}, // boxes that share pixels, rows without alignment
		{320, 200, 40},
		{197, 11, 32}, // flat
		{33, 33, 32},
		{32, 32, 32},
		{31, 17, 33}, // enlarged, odd
		{20, 12, 64},
		{2, 2, 17},
		{1000, 7, 3}, // hundreds of taps
	} {
		var frames []vision.Image
		for i, f := range formats {
			frames = append(frames, noise(f, c.w, c.h, uint64(i)))
		}
		for i, norm := range []vision.Normalization{vision.BGR255, vision.RGBSigned, vision.RGBUnit} {
			r.compareLetterbox(frames, norm, c.size, i == 1, 4*i)
		}
	}
}

// The sizes of cameras and networks: several passes of a row, frames of several geometries in one launch.
func TestLetterboxOfCameras(t *testing.T) {
	r := newRig(t)
	r.compareLetterbox([]vision.Image{drawn(t, vision.NV12, 1920, 1080), drawn(t, vision.BGR, 640, 480), drawn(t, vision.YUYV, 800, 600),
		drawn(t, vision.NV12, 240, 320)}, vision.BGR255, 320, true, 0)
	r.compareLetterbox([]vision.Image{noise(vision.NV12, 1366, 768, 1), noise(vision.BGR, 1280, 720, 2)}, vision.RGBSigned, 128, false, 0)
	r.compareLetterbox([]vision.Image{noise(vision.BGR, 9000, 3, 1), noise(vision.YUYV, 16384, 2, 2), noise(vision.NV12, 700, 500, 3)},
		vision.BGR255, 601, false, 0)
}

// What a pass keeps of its source rows fits into shared memory, wherever the pass begins.
func TestPassesFitIntoSharedMemory(t *testing.T) {
	bytes := map[vision.Format][2]int{vision.BGR: {3, 0}, vision.NV12: {1, 2}, vision.YUYV: {2, 4}} // of a pixel, of a chroma sample
	for _, f := range formats {
		for _, c := range [][3]int{{1920, 1080, 320}, {3840, 2160, 320}, {32768, 64, 320}, {32768, 2, 32}, {16386, 16384, 640}, {7000, 30, 128}, {1366, 768, 601}} {
			l, err := NewLetterbox(f, c[0], c[1], c[2])
			if err != nil {
				t.Fatal(err)
			}
			x, chroma := l.plan.X, l.plan.ChromaX
			for at := range x.First {
				last := min(at+l.step, len(x.First)) - 1
				kept := (x.First[last]+x.Count-x.First[at])*bytes[f][0] + 32
				if pairs := chroma.First; pairs != nil {
					span := (pairs[last]+chroma.Count-pairs[at])*bytes[f][1] + 32
					if f == vision.NV12 { // planes of their own
						kept += span + 16
					}
					kept = max(kept, span)
				}
				if kept > spanBytes {
					t.Fatalf("%s %v: columns %d to %d keep %d bytes", f, c, at, last, kept)
				}
			}
		}
	}
}

func TestLetterboxSendsErrors(t *testing.T) {
	if _, err := NewLetterbox(vision.BGR, 32768, 100, 1); !errors.Is(err, vision.ErrImage) {
		t.Errorf("a row that is one pixel: %v", err)
	}
	for _, c := range []struct {
		format     vision.Format
		w, h, size int
	}{{vision.NV12, 63, 48, 32}, {vision.BGR, 0, 8, 32}, {"RGBA", 8, 8, 32}, {vision.BGR, 8, 8, 0}, {vision.BGR, 8, 8, 1 << 20}} {
		if _, err := NewLetterbox(c.format, c.w, c.h, c.size); !errors.Is(err, vision.ErrImage) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	l, err := NewLetterbox(vision.BGR, 64, 48, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]uint64{{0, 512}, {514, 512}, {512, 0}, {512, 514}} {
		if _, err := l.Append(nil, at[0], at[1]); !errors.Is(err, ErrLaunch) {
			t.Errorf("at %v: %v", at, err)
		}
	}
	var s Set
	if err := s.Letterbox(nil, 0, 0, vision.BGR255, Target{Size: 32}); !errors.Is(err, ErrLaunch) {
		t.Errorf("no frames: %v", err)
	}
}
