//go:build cuda

// Package media compares package gpuvision with package vision on plain Go over all public recordings, and wears it out. With the tags
// cuda and gpu it runs on a GPU, on every frame; with the tag cuda alone on a few frames, with emulated kernels.
package media

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"facetrack/infer"
	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

var precisions = []string{infer.FP32, infer.FP16}

// setting is a number that the environment may replace.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return n
}

// TestMedia compares every frame of the public recordings, in every pixel format, from the host's memory and the device's.
func TestMedia(t *testing.T) {
	if underRace && !onGPU {
		t.Skip("SKIPPED: plain Go is too slow under the race detector; runs without -race, and TestDrawn does the same with small networks")
	}
	nets := publicNets(t)
	var clips []clip
	step := setting(t, "FACETRACK_MEDIA_STEP", step)
	for i, path := range recordings(t) {
		for _, format := range formatsOf(i) {
			clips = append(clips, readClip(t, path, format, max(1, step)))
		}
	}
	compareAll(t, nets, clips)
}

// TestDrawn is TestMedia without any public file.
func TestDrawn(t *testing.T) {
	var clips []clip
	for _, format := range formats {
		clips = append(clips, readClip(t, "synthetic:faces=2,size=320x240,frames=40", format, 20))
	}
	compareAll(t, drawnNets(t), clips)
}

func compareAll(t *testing.T, n nets, clips []clip) {
	all := newReferences(t, n)
	begin := time.Now()
	want := make([][]expected, len(clips))
	for k, c := range clips {
		want[k] = make([]expected, len(c.frames))
		all.each(t, len(c.frames), func(r *reference, i int) (err error) {
			want[k][i], err = r.look(c.frames[i])
			return err
		})
	}
	t.Logf("plain Go took %.1f s", time.Since(begin).Seconds())
	device := openDevice(t)
	for _, precision := range precisions {
		t.Run(precision, func(t *testing.T) {
			c := comparison{t: t, limits: allowed[precision], result: result{Precision: precision, Device: device.Info().Name}}
			s := newSubject(t, device, n, precision)
			for k := range clips {
				t.Run(clips[k].name, func(t *testing.T) {
					s.t, c.t = t, t // what a clip takes it gives back
					c.clip(s, all, n, clips[k], want[k])
				})
			}
			c.report(t)
		})
	}
}

// nobody is the presence below which a region shows no face, whoever vouches for it (landmarks stage).
const nobody = 0.002

type comparison struct {
	t      *testing.T
	limits limits
	result result
	all    []difference
}

func (c *comparison) clip(s *subject, all references, n nets, film clip, want []expected) {
	frames := s.frames(film.frames)
	c.result.Frames += len(frames)
	for d, sights := range s.look(frames) {
		for i := range sights {
			s := compareFaces(sights[i], want[i].sights[d], n.detectors[d].threshold+c.limits.scores)
			if s.IoU < c.limits.boxes {
				c.settle(&s, all, d, film.frames[i], sights[i], want[i].sights[d])
			}
			c.detector(n.detectors[d], film.name, i, s)
		}
	}
	found := s.find(frames, want)
	same := make([][]vision.FaceResult, len(found))
	all.each(c.t, len(found), func(r *reference, i int) (err error) {
		same[i], err = r.same(film.frames[i], want[i], found[i])
		return err
	})
	for i := range found {
		c.faces(film.name, i, want[i], found[i], same[i])
	}
}

// same is what plain Go says of the regions that the GPU's results are from: most often it was asked the same.
func (r *reference) same(m vision.Image, want expected, got []faces.Result) ([]vision.FaceResult, error) {
	list := slices.Clone(want.faces)
	for k := range list {
		if list[k].ROI != got[k].ROI {
			again, err := r.once.Run(m, []vision.ROI{got[k].ROI})
			if err != nil {
				return nil, err
			}
			list[k] = again[0]
		}
	}
	return list, nil
}

// settle lets a frame pass with a detector whose winner was a matter of the last digits.
func (c *comparison) settle(s *sightings, all references, d int, m vision.Image, got, want []vision.Face) {
	all.each(c.t, 1, func(r *reference, _ int) error {
		candidates, err := r.all[d].Detect(m)
		if c.limits.tied(got, want, candidates) {
			s.IoU, s.Tied = 1, 1
		}
		return err
	})
}

func (c *comparison) detector(d detector, clip string, frame int, s sightings) {
	if c.result.Detectors == nil {
		c.result.Detectors = map[string]*sightings{}
	}
	sum := c.result.Detectors[d.name]
	if sum == nil {
		sum = &sightings{IoU: 1}
		c.result.Detectors[d.name] = sum
	}
	sum.add(s)
	if !(s.IoU >= c.limits.boxes) || !(s.Score <= c.limits.scores) || s.Missed > 0 {
		c.t.Errorf("%s, %s, frame %d: %+v", d.name, clip, frame, s)
	}
}

func (c *comparison) faces(clip string, frame int, want expected, got []faces.Result, same []vision.FaceResult) {
	for k := range got {
		c.result.Faces++
		if got[k].ROI != want.rois[k] {
			c.result.Retried++
		}
		if same[k].Presence < nobody && got[k].Presence < nobody {
			c.result.Nobody++ // a region that the landmarks stage drops: what points there are, are nobody's
			continue
		}
		d := differ(got[k], same[k])
		if c.all = append(c.all, d); d.Points > c.result.Worst.Points {
			c.result.Worst, c.result.WorstAt = d, fmt.Sprintf("%s, frame %d, face %d, region of %.0f px, presence %.3f", clip, frame, k, got[k].ROI.Size, same[k].Presence)
		}
		if oneSided(got[k].FaceResult, want.faces[k]) {
			c.result.Doubtful++
		}
		if !c.limits.within(d) {
			c.result.Beyond++
			c.t.Errorf("%s, frame %d, face %d (region of %.0f px, presence %.3f): %+v", clip, frame, k, got[k].ROI.Size, same[k].Presence, d)
		}
	}
}
