package modeleval

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // formats of the pictures
	_ "image/png"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/image/draw"

	"facetrack/topology"
	"facetrack/track"
	"facetrack/vision"
)

// truthFile is what training/holdout.py writes beside its pictures.
const truthFile = "truth.json.gz"

// ErrHoldout is wrapped by errors about a folder of rendered pictures.
var ErrHoldout = errors.New("modeleval: rendered pictures")

// truth is the content of truthFile; training/holdout.py describes it.
type truth struct {
	Format int          `json:"format"`
	Seed   int          `json:"seed"`
	Points string       `json:"points"`
	Scenes []truthScene `json:"scenes"`
	Crops  []truthCrop  `json:"crops"`
}

type truthScene struct {
	File  string      `json:"file"`
	Faces []truthFace `json:"faces"`
}

// truthFace is what is known of every face.
type truthFace struct {
	Box    vision.Box   `json:"box"`
	Five   [][2]float64 `json:"five"`
	Shown  float64      `json:"shown"` // share of its points that others, things and the border leave
	Nobody bool         `json:"nobody"`
	Points [][]float64  `json:"points"` // x and y of the first 68 in scenes; of crops all, with depth, px
	Pose   [3]float64   `json:"pose"`   // degrees
}

// truthCrop is a picture of one face.
type truthCrop struct {
	File string `json:"file"`
	truthFace
	Coefficients []float64  `json:"coefficients"`
	Position     [3]float64 `json:"position"` // cm
	Visible      []bool     `json:"visible"`
}

const (
	leastShown  = 0.3 // of a face's points
	leastInside = 0.5 // of a face's box
)

func readTruth(folder string) (t truth, err error) {
	data, err := os.ReadFile(filepath.Join(folder, truthFile)) //nolint:gosec // the operator names the folder
	if err != nil {
		return t, fmt.Errorf("%w: %w; training/holdout.py writes them", ErrHoldout, err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", ErrHoldout, truthFile, err)
	}
	if data, err = io.ReadAll(zipped); err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", ErrHoldout, truthFile, err)
	}
	return t, t.check()
}

func (t *truth) check() error {
	if t.Format != 1 || t.Points != topology.ICT.Name {
		return fmt.Errorf("%w: format %d with points %q; this program reads format 1 with %s", ErrHoldout, t.Format, t.Points, topology.ICT.Name)
	}
	for _, c := range t.Crops {
		if len(c.Points) != topology.ICT.Count || len(c.Coefficients) != len(vision.BlendshapeNames) || len(c.Five) < 2 || !c.solid() {
			return fmt.Errorf("%w: %s: %d points, %d coefficients", ErrHoldout, c.File, len(c.Points), len(c.Coefficients))
		}
	}
	return nil
}

// solid tells that all points have a depth.
func (f *truthFace) solid() bool {
	for _, p := range f.Points {
		if len(p) != 3 {
			return false
		}
	}
	return true
}

func (f *truthFace) all() [][3]float64 {
	out := make([][3]float64, len(f.Points))
	for i, p := range f.Points {
		out[i] = [3]float64(p)
	}
	return out
}

func (f *truthFace) marks() (m marks) {
	for i := range m {
		m[i] = [2]float64{f.Points[i][0], f.Points[i][1]}
	}
	return m
}

// wanted tells that a face of a scene is to be found.
func (f *truthFace) wanted(m vision.Image, least float64) bool {
	return !f.Nobody && f.Shown >= leastShown && inside(f.Box, m) > leastInside && side(f.Box) >= least
}

// inside is the share of a box that lies within the picture.
func inside(b vision.Box, m vision.Image) float64 {
	w := min(b[0]+b[2], float64(m.Width)) - max(b[0], 0)
	h := min(b[1]+b[3], float64(m.Height)) - max(b[1], 0)
	return ratio(max(w, 0)*max(h, 0), b[2]*b[3])
}

// apparent is the head's rotation as it is seen along the line to it.
func (c *truthCrop) apparent() track.Rotation {
	return times(along(c.Position), track.RotationFromAngles(c.Pose[0], c.Pose[1], c.Pose[2]))
}

// corners is the distance between the outer corners of the eyes, in two or three dimensions.
func (f *truthFace) corners(dimensions int) float64 {
	sum := 0.0
	for k := range dimensions {
		d := f.Points[leftCorner][k] - f.Points[rightCorner][k]
		sum += d * d
	}
	return math.Sqrt(sum)
}

// readPicture reads a rendered picture as a camera's frame.
func readPicture(path string) (m vision.Image, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // beside the truth
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrHoldout, err)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return m, fmt.Errorf("%w: %s: %w", ErrHoldout, base(path), err)
	}
	rgba := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(rgba, rgba.Bounds(), img, img.Bounds().Min, draw.Src)
	m = vision.Image{Format: vision.BGR, Width: rgba.Rect.Dx(), Height: rgba.Rect.Dy(), Pix: make([]byte, 3*len(rgba.Pix)/4)}
	for i := range len(rgba.Pix) / 4 {
		m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = rgba.Pix[4*i+2], rgba.Pix[4*i+1], rgba.Pix[4*i]
	}
	return m, nil
}
