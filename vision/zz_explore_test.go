package vision

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"
)

func overlay(m Image, name string, res []FaceResult, zoom int) {
	p := image.NewRGBA(image.Rect(0, 0, m.Width*zoom, m.Height*zoom))
	for y := 0; y < m.Height*zoom; y++ { for x := 0; x < m.Width*zoom; x++ { q := refPixel(m, x/zoom, y/zoom); p.Set(x, y, color.RGBA{uint8(q[0]), uint8(q[1]), uint8(q[2]), 255}) } }
	dot := func(x, y float64, c color.RGBA, r int) { for dy := -r; dy <= r; dy++ { for dx := -r; dx <= r; dx++ { p.Set(int(x*float64(zoom))+dx, int(y*float64(zoom))+dy, c) } } }
	lineTo := func(x0, y0, x1, y1 float64, c color.RGBA) { for k := 0; k <= 300; k++ { f := float64(k) / 300; dot(x0+(x1-x0)*f, y0+(y1-y0)*f, c, 0) } }
	for _, r := range res {
		for i, q := range r.Points { c := color.RGBA{0, 255, 255, 255}; if i >= 468 { c = color.RGBA{255, 0, 0, 255} }; dot(q[0], q[1], c, 0) }
		x0, y0 := r.ROI.Frame(0, 0); x1, y1 := r.ROI.Frame(1, 0); x2, y2 := r.ROI.Frame(1, 1); x3, y3 := r.ROI.Frame(0, 1)
		c := color.RGBA{255, 255, 0, 255}
		lineTo(x0, y0, x1, y1, c); lineTo(x1, y1, x2, y2, c); lineTo(x2, y2, x3, y3, c); lineTo(x3, y3, x0, y0, c)
	}
	os.MkdirAll("/tmp/overlay", 0o755)
	f, _ := os.Create("/tmp/overlay/" + name + ".png")
	png.Encode(f, p); f.Close()
}

func TestExplore(t *testing.T) {
	for _, dn := range []string{"yunet_n_320_320.onnx", "yunet_n_640_640.onnx", bundle} {
		for _, thr := range []float64{0.4, 0.5, 0.6, 0.7, 0.8} {
			d := newTestDetector(t, dn, DetectorOptions{ScoreThreshold: thr})
			for _, c := range []struct{ n string; want int }{{"head-pose-face-detection-female-and-male", 2}, {"face-demographics-walking-and-pause", 3}, {"classroom", 4}} {
				h := map[int]int{}
				for _, m := range readClip(t, c.n+".gif", 2) { h[len(detect(t, d, m))]++ }
				fmt.Printf("%s thr %.1f %s want %d: %v\n", dn[:9], thr, c.n, c.want, h)
			}
		}
	}
	d := newTestDetector(t, "yunet_n_640_640.onnx", DetectorOptions{})
	lm := newTestLandmarker(t)
	for _, n := range []string{"head-pose-face-detection-female-and-male", "face-demographics-walking-and-pause", "classroom"} {
		clip := readClip(t, n+".gif", 1)
		low, total := 0, 0
		for i, m := range clip {
			var rois []ROI
			for _, f := range detect(t, d, m) { rois = append(rois, ROIFromFace(f)) }
			res, err := lm.Run(m, rois)
			if err != nil { t.Fatal(err) }
			for _, r := range res { total++; if r.Presence < 0.5 { low++ } }
			if i == len(clip)/2 || i == len(clip)*3/4 { overlay(convert(m, NV12), fmt.Sprintf("final-%s-%d", n[:6], i), res, 2) }
		}
		fmt.Println(n, "low", low, "of", total)
	}
}
