package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"facetrack/internal/demo"
	"facetrack/internal/truth"
	"facetrack/topology"
)

// CompareCmd tells how far a recording is from what is known of the clip.
type CompareCmd struct {
	Recording string `arg:"" type:"existingfile" help:"FILE.jsonl of 'facetrack up --record' with a clip whose truth is known."`
	Truth     string `type:"existingfile" placeholder:"FILE" help:"What is known of the clip; without it that of --source demo."`
	Camera    string `placeholder:"NAME" help:"Whose frames; may be left out if the recording has one camera."`
	JSON      bool   `name:"json" help:"Print JSON."`
}

// Run is `facetrack compare`.
func (c *CompareCmd) Run() error {
	clip, err := c.truth()
	if err != nil {
		return err
	}
	f, err := os.Open(c.Recording)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, err := truth.Compare(f, clip, truth.Options{Camera: c.Camera, MultiPIE: multiPIE})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Recording, err)
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	printComparison(os.Stdout, r)
	return nil
}

func (c *CompareCmd) truth() (*truth.Clip, error) {
	if c.Truth == "" {
		return truth.Read(bytes.NewReader(demo.Truth))
	}
	f, err := os.Open(c.Truth)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	clip, err := truth.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Truth, err)
	}
	return clip, nil
}

// multiPIE are the 68 points of a topology.
func multiPIE(name string) (*[truth.Points]int, bool) {
	set, ok := topology.Named(name)
	if !ok {
		return nil, false
	}
	return &set.MultiPIE, true
}

func printComparison(out io.Writer, r *truth.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{name}, args...)...)
	}
	_, _ = fmt.Fprintf(w, "against the truth, %s, %d frames:\n", r.Camera, r.Frames)
	row("faces found", "%.1f %% of %d, %d false", 100*r.Recall(), r.Persons, r.False)
	row("identity switches", "%d", r.Switches)
	measured := func(name string, e *truth.Errors, scale float64, unit, more string) {
		if e == nil {
			row(name, "not measured")
			return
		}
		row(name, "%.2f %s (95 %% of faces: %.2f)%s", scale*e.Mean, unit, scale*e.P95, more)
	}
	measured("68 points", r.Points, 100, "% of the distance of the eyes", "")
	measured("without the jaw line", r.PointsInside, 100, "%", "")
	angles := ""
	if r.Angles != nil {
		angles = fmt.Sprintf("; pitch %.1f, yaw %.1f, roll %.1f", r.Angles.Pitch, r.Angles.Yaw, r.Angles.Roll)
	}
	measured("head pose", r.Pose, 1, "°", angles)
	measured("head position", r.Position, 1, "cm", "")
	measured("gaze", r.Gaze, 1, "°", "")
	rest := ""
	if r.AtRest != nil {
		rest = fmt.Sprintf("; a face at rest throughout: %.3f", r.AtRest.Mean)
	}
	if r.Coefficients == nil {
		row("coefficients", "not measured")
	} else {
		row("coefficients", "%.3f of 1 (95 %% of faces: %.3f)%s", r.Coefficients.Mean, r.Coefficients.P95, rest)
	}
	_ = w.Flush()
}
