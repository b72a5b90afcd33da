//go:build e2e

package e2e

import (
	"encoding/json"
	"image"
	"image/png"
	"os"
	"testing"

	"facetrack/internal/app"
	"facetrack/internal/source"
)

// picture writes a drawn frame as a PNG file.
func (r *rig) picture(spec string) string {
	r.t.Helper()
	src, err := source.Open(r.t.Context(), spec, source.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	if _, err := src.Grab(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	info := src.Info()
	pix := make([]byte, info.FrameBytes())
	if err := src.Retrieve(pix); err != nil {
		r.t.Fatal(err)
	}
	img := image.NewRGBA(image.Rect(0, 0, info.Width, info.Height))
	for i := 0; i < len(pix); i += 3 {
		o := i / 3 * 4
		img.Pix[o], img.Pix[o+1], img.Pix[o+2], img.Pix[o+3] = pix[i+2], pix[i+1], pix[i], 0xff
	}
	path := r.path("picture.png")
	f, err := os.Create(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := png.Encode(f, img); err != nil {
		r.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// Two cameras play a picture from memory, by processes and by threads, and each frame of each is accounted for.
func TestBenchCameras(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	out := r.path("cameras.json")
	bench := command(t, "bench", "cameras", r.picture("synthetic:faces=1,size=320x240,format=BGR"), "--size", "320x240", "--fps", "10", "--cameras", "2",
		"--hold", "2s", "--limit", "1m", "--mode", "processes,threads", "--up=--config="+r.config(""), "--out", out)
	text, failed := bench.CombinedOutput()
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var result app.CamerasResult
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Modes) != 2 {
		t.Fatalf("%d modes\n%s", len(result.Modes), text)
	}
	if held := result.Modes[0].Final.OK && result.Modes[1].Final.OK; (failed == nil) != held {
		t.Errorf("ended with %v, all held: %v\n%s", failed, held, text)
	}
	for _, m := range result.Modes {
		f := m.Final
		link := map[string]string{"processes": processLink, "threads": threadLink}[m.Mode]
		held, dropped := 0, uint64(0) // a busy machine may drop frames: that is what the program is to say
		for _, n := range f.Dropped {
			dropped += n
		}
		if f.OK {
			held = 2
		}
		seen := f.Faces > 0.5 && f.Faces <= 1 // somebody is a face from the third frame on
		if m.Held != held || f.OK != (f.WhyNot == "") || f.OK && dropped > 0 || result.Kept != 1 || f.HoldS != 2 || f.Captured < 10 || f.Captured != f.Tracked+dropped || !seen || f.P99 <= 0 || f.P99 < f.P50 ||
			f.CPUs <= 0 || f.Transport[link] != 4 {
			t.Errorf("%s: %+v", m.Mode, m)
		}
	}
}
