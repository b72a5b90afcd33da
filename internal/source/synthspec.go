package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SyntheticParams describe a drawn clip. The same parameters and frame index always give the same pixels.
type SyntheticParams struct {
	Faces         int     // 0 to 16
	Width, Height int     // even, at least 160×120
	FPS           float64 // nominal rate
	Frames        int     // -1 for an endless clip
	Seed          uint64  // changes the paths
	Format        string  // BGR, NV12 or YUYV
	Diameter      float64 // px of a face; 0 takes a fifth of the frame's height (96 at 640×480), less when faces are many
	Cross         bool    // faces roam over the whole frame and may cover one another; higher indices are in front
}

const (
	maxSynthFaces = 16
	minSynthFace  = 12 // px: below this eyes and mouth are less than a pixel
)

// synthKeys are the keys of a specification and how each is read.
var synthKeys = map[string]func(*SyntheticParams, string) error{
	"faces":    func(p *SyntheticParams, v string) error { return synthInt(v, 0, maxSynthFaces, &p.Faces) },
	"frames":   func(p *SyntheticParams, v string) error { return synthInt(v, -1, 1<<31-1, &p.Frames) },
	"size":     synthSize,
	"fps":      func(p *SyntheticParams, v string) error { return synthFloat(v, 0.001, 1000, &p.FPS) },
	"diameter": func(p *SyntheticParams, v string) error { return synthFloat(v, minSynthFace, 8192, &p.Diameter) },
	"seed": func(p *SyntheticParams, v string) (err error) {
		p.Seed, err = strconv.ParseUint(v, 10, 64)
		return err
	},
	"format": func(p *SyntheticParams, v string) error {
		p.Format = strings.ToUpper(v)
		if frameBytes(p.Format, 2, 2) == 0 {
			return fmt.Errorf("want %s, %s or %s", BGR, NV12, YUYV)
		}
		return nil
	},
	"cross": func(p *SyntheticParams, v string) (err error) {
		p.Cross, err = strconv.ParseBool(v)
		return err
	},
}

// ParseSynthetic reads "synthetic:faces=2,size=640x480,fps=30,frames=300,seed=1,format=NV12,diameter=96,cross=1".
// Every key may be left out: one face, 640x480, 30 frames/s, endless, seed 1, BGR, no crossing. Errors: ErrSpec.
func ParseSynthetic(spec string) (SyntheticParams, error) {
	p := SyntheticParams{Faces: 1, Width: 640, Height: 480, FPS: defaultFPS, Frames: -1, Seed: 1, Format: BGR}
	rest := strings.TrimPrefix(strings.TrimPrefix(spec, "synthetic"), ":")
	for field := range strings.SplitSeq(rest, ",") {
		if field == "" {
			continue
		}
		key, value, _ := strings.Cut(field, "=")
		read, ok := synthKeys[key]
		if !ok {
			return p, fmt.Errorf("%w: %s: unknown key %q; the keys are %s", ErrSpec, spec, key, strings.Join(synthKeyNames(), ", "))
		}
		if err := read(&p, value); err != nil {
			return p, fmt.Errorf("%w: %s: %s=%s: %w", ErrSpec, spec, key, value, err)
		}
	}
	return p, p.place(spec)
}

func synthKeyNames() []string {
	var names []string
	for k := range synthKeys {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

func synthInt(v string, lo, hi int, dst *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		return fmt.Errorf("want a whole number from %d to %d", lo, hi)
	}
	*dst = n
	return nil
}

func synthFloat(v string, lo, hi float64, dst *float64) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= lo && f <= hi) {
		return fmt.Errorf("want a number from %g to %g", lo, hi)
	}
	*dst = f
	return nil
}

func synthSize(p *SyntheticParams, v string) error {
	w, h, _ := strings.Cut(v, "x")
	if synthInt(w, 160, 8192, &p.Width) != nil || synthInt(h, 120, 8192, &p.Height) != nil || p.Width%2+p.Height%2 != 0 {
		return fmt.Errorf("want WIDTHxHEIGHT, even numbers from 160x120 to 8192x8192")
	}
	return nil
}

// place settles the diameter and makes sure that the faces have room.
func (p *SyntheticParams) place(spec string) error {
	cw, ch := p.cell()
	room := 0.9 * min(cw, ch)
	if p.Diameter == 0 {
		p.Diameter = min(float64(p.Height)/5, room)
	}
	if p.Faces > 0 && (p.Diameter > room || p.Diameter < minSynthFace) {
		return fmt.Errorf("%w: %s: %d faces of %.0f px have no room; at most %.0f px each fit", ErrSpec, spec, p.Faces, p.Diameter, room)
	}
	return nil
}
