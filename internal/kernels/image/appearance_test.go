package image

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"facetrack/infer"
	"facetrack/vision"
)

// oval is a landmark network that sees the same upright face of 478 points wherever it looks.
type oval struct{ infer.Session }

func (oval) Inputs() []infer.Info { return []infer.Info{{Shape: []int{1, 192, 192, 3}}} }

func (oval) Outputs() []infer.Info {
	return []infer.Info{{Shape: []int{1, 1434}}, {Shape: []int{1, 1}}}
}

func (oval) Run(_ int, _, out []infer.Buffer) error {
	for i := range 478 {
		sin, cos := math.Sincos(float64(i) * 2 * math.Pi / 478)
		out[0].Host[3*i], out[0].Host[3*i+1] = float32(96+60*cos), float32(96+70*sin)
	}
	out[0].Host[3*33], out[0].Host[3*33+1] = 70, 80
	out[0].Host[3*263], out[0].Host[3*263+1] = 122, 80
	out[1].Host[0] = 5
	return nil
}

// described is the face that vision finds with that network in a region.
func (r *rig) described(l look) vision.FaceResult {
	r.Helper()
	m, err := vision.NewLandmarker(oval{}, nil, vision.LandmarkerOptions{})
	r.must(err)
	found, err := m.Run(l.image, []vision.ROI{l.roi})
	r.must(err)
	return found[0]
}

// place is what package faces writes of a region.
func place(p vision.ROI) []byte {
	sin, cos := math.Sincos(p.Rotation)
	return binary.LittleEndian.AppendUint64(doubles(nil, p.CX, p.CY, p.Size, sin, cos), 1)
}

func TestAppearanceIsVisions(t *testing.T) {
	r := newRig(t)
	hd, vga, wide := drawn(t, vision.NV12, 640, 480), drawn(t, vision.BGR, 320, 240), drawn(t, vision.YUYV, 160, 120)
	dark := noise(vision.NV12, 64, 48, 5)
	for i := range dark.Pix[:64*48] {
		dark.Pix[i] = 16 + dark.Pix[i]/128
	}
	for i := range dark.Pix[64*48:] {
		dark.Pix[64*48+i] = 128
	}
	black := vision.Image{Format: vision.BGR, Width: 8, Height: 8, Pix: make([]byte, 192)}
	looks := []look{
		{hd, vision.ROI{CX: 320, CY: 240, Size: 150, Rotation: 0.3}},
		{vga, vision.ROI{CX: 160, CY: 120, Size: 60}},
		{wide, vision.ROI{CX: 150, CY: 10, Size: 77, Rotation: -2}},
		{noise(vision.BGR, 63, 47, 1), vision.ROI{CX: 30, CY: 30, Size: 40, Rotation: 1}},
		{noise(vision.NV12, 63, 47, 2), vision.ROI{CX: 0, CY: 30, Size: 90, Rotation: 1}},
		{dark, vision.ROI{CX: 32, CY: 24, Size: 40}},
		{black, vision.ROI{CX: 4, CY: 4, Size: 8}},
		{hd, vision.ROI{CX: 320, CY: 240, Size: 150, Rotation: 0.3}},
	}
	var places []byte
	var want [][]float64
	for _, l := range looks {
		f := r.described(l)
		next, err := f.Next()
		r.must(err)
		places, want = append(places, place(next)...), append(want, f.Appearance)
	}
	const invalid = 7
	binary.LittleEndian.PutUint64(places[len(places)-8:], 0)
	want[invalid] = make([]float64, vision.AppearanceSize)

	const each = 4*vision.AppearanceSize + 8
	out := r.take(len(looks)*each, 4)
	regions := r.regions(looks, 192)
	r.must(r.set.Appearance(r.stream, regions, r.put(places, 0), len(looks), out, each))
	raw := r.host.Bytes()[:len(looks)*each]
	r.must(errors.Join(r.stream.Download(raw, out), r.stream.Synchronize()))
	worst := 0.0
	for i, w := range want {
		for k, v := range w {
			got := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i*each+4*k:])))
			worst = max(worst, math.Abs(got-v))
			if !(math.Abs(got-v) <= 1e-3) {
				t.Fatalf("face %d, value %d: %v, want %v", i, k, got, v)
			}
		}
	}
	t.Logf("off by %.2g at most", worst)
}
