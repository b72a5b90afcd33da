package truth

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Format is what the first key of a file says.
const Format = "facetrack-truth-1"

// Points is how many a person has.
const Points = 68

const (
	coefficients = 52
	maxBytes     = 256 << 20 // of a file, unpacked
)

// ErrFormat says that a file is none of this package's.
var ErrFormat = errors.New("truth: bad file")

// Clip is what is known of a clip.
type Clip struct {
	Format string     `json:"format"`
	Width  int        `json:"width"`
	Height int        `json:"height"`
	FPS    float64    `json:"fps"`
	Focal  float64    `json:"focal"` // px
	Frames [][]Person `json:"frames"`
}

// Person is what is known of one person in one frame; the package comment explains each.
type Person struct {
	ID           int          `json:"id"`
	Box          []float64    `json:"box"`
	Shown        float64      `json:"shown"`
	Five         [][2]float64 `json:"five"`
	Points       [][2]float64 `json:"points"`
	Hidden       []int        `json:"hidden"`
	Coefficients []float64    `json:"coefficients"`
	Pose         []float64    `json:"pose"`
	Position     []float64    `json:"position"`
	Gaze         Gaze         `json:"gaze"`
}

// Gaze is where the eyes look, relative to the head.
type Gaze struct {
	Left  [2]float64 `json:"left"`
	Right [2]float64 `json:"right"`
}

// HFOVDegrees is the horizontal field of view with which the clip was rendered.
func (c *Clip) HFOVDegrees() float64 {
	return 2 * math.Atan(float64(c.Width)/2/c.Focal) * 180 / math.Pi
}

// Read reads a file and checks that it is complete.
func Read(r io.Reader) (*Clip, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1F, 0x8B}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		in = bufio.NewReader(z)
	}
	limited := &io.LimitedReader{R: in, N: maxBytes}
	d := json.NewDecoder(limited)
	d.DisallowUnknownFields()
	c := new(Clip)
	if err := d.Decode(c); err != nil {
		if limited.N == 0 {
			err = fmt.Errorf("more than %d bytes", maxBytes)
		}
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return c, nil
}

func (c *Clip) check() error {
	switch {
	case c.Format != Format:
		return fmt.Errorf("format is %.40q, want %q", c.Format, Format)
	case c.Width <= 0 || c.Height <= 0 || c.FPS <= 0 || c.Focal <= 0:
		return fmt.Errorf("width %d, height %d, fps %g and focal %g must all be positive", c.Width, c.Height, c.FPS, c.Focal)
	case len(c.Frames) == 0:
		return errors.New("no frames")
	}
	for i, frame := range c.Frames {
		for j := range frame {
			if err := frame[j].check(); err != nil {
				return fmt.Errorf("frame %d, person %d: %w", i, j, err)
			}
		}
	}
	return nil
}

func (p *Person) check() error {
	for _, l := range []struct {
		name      string
		got, want int
	}{
		{"box", len(p.Box), 4},
		{"five", len(p.Five), 5},
		{"points", len(p.Points), Points},
		{"coefficients", len(p.Coefficients), coefficients},
		{"pose", len(p.Pose), 3},
		{"position", len(p.Position), 3},
	} {
		if l.got != l.want {
			return fmt.Errorf("%s has %d values, want %d", l.name, l.got, l.want)
		}
	}
	for _, h := range p.Hidden {
		if h < 0 || h >= Points {
			return fmt.Errorf("hidden names point %d of %d", h, Points)
		}
	}
	if p.Box[2] <= 0 || p.Box[3] <= 0 || p.interocular() <= 0 {
		return errors.New("box and distance of the eyes must not be empty")
	}
	return nil
}

// interocular is the distance between the outer corners of the eyes, px.
func (p *Person) interocular() float64 {
	const right, left = 36, 45
	return distance(p.Points[right], p.Points[left])
}

func distance(a, b [2]float64) float64 { return math.Hypot(a[0]-b[0], a[1]-b[1]) }
