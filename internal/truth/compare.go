package truth

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"facetrack/ipc"
)

const (
	// Clear is how much of a face has to be shown for it to count as missed.
	Clear = 0.5
	// overlap is the least intersection over union of a face and its person.
	overlap = 0.3
	maxLine = 16 << 20 // bytes of a recorded line
)

// ErrRecording says that a recording cannot be compared with the clip.
var ErrRecording = errors.New("truth: recording does not fit the clip")

// Options of Compare.
type Options struct {
	Camera string // whose frames; may be empty if the recording has one
	// MultiPIE tells which points of a topology stand for the 68; false leaves the points out.
	MultiPIE func(topology string) (*[Points]int, bool)
}

// Result is how far a recording is from the truth. What was never measured is absent.
type Result struct {
	Camera       string  `json:"camera"`
	Frames       int     `json:"frames"`
	Persons      int     `json:"persons"`        // in all frames together, of whom enough is shown
	Found        int     `json:"found"`          // of these
	False        int     `json:"false"`          // faces that are nobody's
	Switches     int     `json:"switches"`       // of somebody's identity
	Points       *Errors `json:"points"`         // of 68, in parts of the distance between the outer corners of the eyes
	PointsInside *Errors `json:"points_inside"`  // the same without the 17 of the jaw line
	Pose         *Errors `json:"pose_degrees"`   // angle between rotations of the head
	Angles       *Angles `json:"angles_degrees"` // the same, each angle by itself: mean absolute error
	Position     *Errors `json:"position_cm"`    // of the head
	Gaze         *Errors `json:"gaze_degrees"`   // angle between the looks of both eyes together
	Coefficients *Errors `json:"coefficients"`   // mean absolute error of the 51 beside _neutral
	AtRest       *Errors `json:"at_rest"`        // what that would be for a tracker that always says 0
}

// Errors are those of all faces that were found.
type Errors struct {
	Mean float64 `json:"mean"`
	P95  float64 `json:"p95"`
}

// Angles are mean absolute errors.
type Angles struct {
	Pitch float64 `json:"pitch"`
	Yaw   float64 `json:"yaw"`
	Roll  float64 `json:"roll"`
}

// Recall is the share of people who were found.
func (r *Result) Recall() float64 { return float64(r.Found) / float64(max(1, r.Persons)) }

// Compare reads a recording as `facetrack up --record` writes it.
func Compare(recording io.Reader, clip *Clip, o Options) (*Result, error) {
	c := comparison{clip: clip, options: o, identity: map[int]int{}}
	c.result.Camera = o.Camera
	cameras := map[string]bool{}
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		m, err := ipc.DecodeTracks(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d of the recording: %w", n, err)
		}
		cameras[m.Camera] = true
		if o.Camera != "" && m.Camera != o.Camera {
			continue
		}
		if err := c.frame(&m); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrRecording, n, err)
		}
		c.result.Camera = m.Camera
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	switch names := strings.Join(slices.Sorted(maps.Keys(cameras)), ", "); {
	case o.Camera == "" && len(cameras) > 1:
		return nil, fmt.Errorf("%w: it has the cameras %s: name one", ErrRecording, names)
	case c.result.Frames == 0 && len(cameras) > 0:
		return nil, fmt.Errorf("%w: it has no camera %s, but %s", ErrRecording, o.Camera, names)
	case c.result.Frames == 0:
		return nil, fmt.Errorf("%w: it has no frames", ErrRecording)
	}
	return c.done(), nil
}

// comparison is what was found so far.
type comparison struct {
	clip     *Clip
	options  Options
	result   Result
	identity map[int]int // of each person, where they were found last
	of       samples
}

// at is the frame of the clip that a line is about.
func (c *comparison) at(f *ipc.Frame) (int, error) {
	if f.Width != c.clip.Width || f.Height != c.clip.Height {
		return 0, fmt.Errorf("frames of %d×%d, the clip has %d×%d", f.Width, f.Height, c.clip.Width, c.clip.Height)
	}
	if f.MediaNS <= 0 {
		return 0, errors.New("no media time: it is of a live camera")
	}
	n := int(math.Round(float64(f.MediaNS) * c.clip.FPS / 1e9)) // up to and including this frame
	if n < 1 {
		return 0, fmt.Errorf("media time %d ns is less than one of its frames takes", f.MediaNS)
	}
	return (n - 1) % len(c.clip.Frames), nil
}

func (c *comparison) frame(m *ipc.Tracks) error {
	i, err := c.at(&m.Frame)
	if err != nil {
		return err
	}
	people := c.clip.Frames[i]
	found := pair(people, m.Faces)
	c.result.Frames++
	c.result.False += len(m.Faces) - len(found)
	for j := range people {
		p := &people[j]
		if p.Shown < Clear {
			continue
		}
		c.result.Persons++
		k, ok := found[j]
		if !ok {
			continue
		}
		c.result.Found++
		face := &m.Faces[k]
		if before, ok := c.identity[p.ID]; ok && before != face.ID {
			c.result.Switches++
		}
		c.identity[p.ID] = face.ID
		c.measure(p, face, m.Topology)
	}
	return nil
}

// pair finds the face of each person, by index, the most overlapping first.
func pair(people []Person, faces []ipc.TrackedFace) map[int]int {
	type match struct {
		person, face int
		share        float64
	}
	var all []match
	for i := range people {
		for j := range faces {
			if share := intersection(people[i].Box, faces[j].Box[:]); share >= overlap {
				all = append(all, match{i, j, share})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(b.share, a.share) })
	found, taken := map[int]int{}, map[int]bool{}
	for _, m := range all {
		if _, ok := found[m.person]; !ok && !taken[m.face] {
			found[m.person], taken[m.face] = m.face, true
		}
	}
	return found
}

// intersection over union of two boxes.
func intersection(a, b []float64) float64 {
	w := min(a[0]+a[2], b[0]+b[2]) - max(a[0], b[0])
	h := min(a[1]+a[3], b[1]+b[3]) - max(a[1], b[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h / (a[2]*a[3] + b[2]*b[3] - w*h)
}
