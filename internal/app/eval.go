package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"facetrack/infer"
	"facetrack/internal/config"
	"facetrack/internal/modeleval"
	"facetrack/internal/models"
)

// EvalCmd measures networks for faces.
type EvalCmd struct {
	Detector         string  `default:"facetrack-detector" placeholder:"MODEL" help:"Detector to measure: a model's name or the path of a file."`
	Landmarks        string  `default:"facetrack-face" placeholder:"MODEL" help:"Landmark network to measure: a model's name or the path of a file."`
	AgainstDetector  string  `default:"yunet-640" placeholder:"MODEL" help:"Detector to compare with on photographs."`
	AgainstLandmarks string  `default:"face-landmarker" placeholder:"MODEL" help:"Landmark network to compare with on photographs."`
	Threshold        float64 `placeholder:"SCORE" help:"Least score of our detector's faces; by default the program's."`
	Assets           string  `type:"path" placeholder:"FOLDER" help:"Folder with media; by default FACETRACK_ASSETS, or shared/assets beside the checkout."`
	Holdout          string  `type:"path" placeholder:"FOLDER" help:"Rendered pictures that training/holdout.py wrote; by default FACETRACK_HOLDOUT."`
	Backend          string  `default:"auto" help:"Inference: auto, a backend of this build, or reference."`
	Out              string  `type:"path" placeholder:"FOLDER" help:"Write eval.json, eval.md and pictures with overlays there."`
	Require          bool    `help:"End with status 1 when a requirement is missed."`
}

// Run is `facetrack eval`.
func (c *EvalCmd) Run(ctx context.Context) error {
	if err := c.complete(); err != nil {
		return err
	}
	screen := newScreen(os.Stderr, false)
	report, err := modeleval.Run(ctx, modeleval.Options{
		Ours:      modeleval.Models{Detector: c.Detector, Landmarks: c.Landmarks},
		Reference: modeleval.Models{Detector: c.AgainstDetector, Landmarks: c.AgainstLandmarks},
		Infer:     infer.Options{Backend: c.Backend, Threads: 1}, Threshold: c.Threshold, Assets: c.Assets, Holdout: c.Holdout, Sheets: c.Out,
		Note: screen.note,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(report.Print(os.Stdout), c.write(report)); err != nil {
		return err
	}
	return c.verdict(report)
}

// complete fills in defaults and makes the folder of the results.
func (c *EvalCmd) complete() error {
	if c.Threshold == 0 {
		c.Threshold = config.Default().Detect.ScoreThreshold
	}
	if c.Threshold < modeleval.Lowest || c.Threshold > 1 {
		return fmt.Errorf("--threshold is %g: give a score from %g to 1", c.Threshold, modeleval.Lowest)
	}
	if c.Assets == "" {
		c.Assets = models.Assets()
	}
	if c.Holdout == "" {
		c.Holdout = os.Getenv("FACETRACK_HOLDOUT")
	}
	if c.Out == "" {
		return nil
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil { //nolint:gosec // part of the documentation
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (c *EvalCmd) write(report *modeleval.Report) error {
	if c.Out == "" {
		return nil
	}
	data, err := report.JSON()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := report.Markdown(&text); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"eval.json": data, "eval.md": []byte(text.String())} {
		if err := os.WriteFile(filepath.Join(c.Out, name), content, 0o644); err != nil { //nolint:gosec // part of the documentation
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

func (c *EvalCmd) verdict(report *modeleval.Report) error {
	missed := report.Missed()
	if !c.Require || len(missed) == 0 {
		return nil
	}
	names := make([]string, len(missed))
	for i, m := range missed {
		names[i] = m.String()
	}
	return fmt.Errorf("missed: %s", strings.Join(names, "; "))
}
