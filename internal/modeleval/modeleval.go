package modeleval

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"time"

	"facetrack/infer"
	"facetrack/internal/models"
	"facetrack/internal/version"
)

// Options tell what to measure.
type Options struct {
	Ours, Reference Models
	Infer           infer.Options
	Threshold       float64 // of our detector
	Assets          string  // folder with public models and media; "" leaves photographs out
	Holdout         string  // folder that training/holdout.py wrote; "" leaves rendered pictures out
	Sheets          string  // folder for pictures with overlays; "" for none
	Note            func(format string, args ...any)
}

// Report is what was measured.
type Report struct {
	Date         string        `json:"date"`
	Commit       string        `json:"commit"`
	Detector     Network       `json:"detector"`
	Landmarks    Network       `json:"landmarks"`
	Reference    []Network     `json:"reference,omitempty"`
	Threshold    float64       `json:"threshold"`
	Clips        []Clip        `json:"clips,omitempty"`
	All          *Clip         `json:"all_clips,omitempty"`
	Holdout      *Holdout      `json:"holdout,omitempty"`
	Requirements []Requirement `json:"requirements"`
	LeftOut      []string      `json:"left_out,omitempty"`
}

// Clip is what was measured on a clip or a picture, or on all of them.
type Clip struct {
	Name       string    `json:"name"`
	Frames     int       `json:"frames"`
	Width      int       `json:"width,omitempty"`
	Height     int       `json:"height,omitempty"`
	Detection  Detection `json:"detection"`
	SameRegion Points    `json:"points_same_region"`
	OwnLoop    Points    `json:"points_own_loop"`
	Shapes     Shapes    `json:"blendshapes"`
	Pose       Pose      `json:"pose"`
	Presence   Presence  `json:"presence"`
	Sheet      string    `json:"sheet,omitempty"`
}

type evaluation struct {
	opts         Options
	ours, theirs *networks
	report       *Report
}

// Run measures.
func Run(ctx context.Context, opts Options) (report *Report, err error) {
	store, err := models.NewStore()
	if err != nil {
		return nil, err
	}
	e := &evaluation{opts: opts, report: &Report{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: version.Commit(), Threshold: opts.Threshold,
	}}
	if e.ours, err = openNetworks(store, opts.Ours, opts.Infer); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.ours.Close()) }()
	e.report.Detector, e.report.Landmarks = e.ours.detector, e.ours.landmarks
	e.theirs, err = openNetworks(store, opts.Reference, opts.Infer)
	if errors.Is(err, models.ErrMissing) {
		e.leaveOut("the public networks: %v", err)
		e.theirs = nil
	} else if err != nil {
		return nil, err
	} else {
		e.report.Reference = []Network{e.theirs.detector, e.theirs.landmarks}
		defer func() { err = errors.Join(err, e.theirs.Close()) }()
	}
	if err := e.rendered(ctx); err != nil {
		return nil, err
	}
	if err := e.photographs(ctx); err != nil {
		return nil, err
	}
	e.report.Requirements = requirements(e.report)
	return e.report, nil
}

func (e *evaluation) leaveOut(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	e.report.LeftOut = append(e.report.LeftOut, line)
	e.opts.Note("left out: %s", line)
}

// photographs measures everything that an assets folder has.
func (e *evaluation) photographs(ctx context.Context) error {
	if e.theirs == nil {
		return nil // which has been said
	}
	if e.opts.Assets == "" {
		e.leaveOut("photographs: no folder with media; set FACETRACK_ASSETS (docs/assets.md)")
		return nil
	}
	paths, left, err := findMedia(e.opts.Assets)
	for _, line := range left {
		e.leaveOut("%s", line)
	}
	if errors.Is(err, os.ErrNotExist) {
		e.leaveOut("photographs: %v", err)
		return nil
	} else if err != nil {
		return err
	}
	return e.clips(ctx, paths)
}

func (e *evaluation) clips(ctx context.Context, paths []string) error {
	all, sheets := make([]*watched, len(paths)), make([]string, len(paths))
	for i, path := range paths {
		e.opts.Note("%s …", base(path))
		w, err := e.watch(ctx, i, path)
		if err != nil {
			return err
		}
		if sheets[i], err = e.save("overlay-"+w.name, w.sheet.draw()); err != nil {
			return err
		}
		w.sheet, all[i] = nil, w // the sheet's frames are large
	}
	together := e.summary("all", nil, all...)
	e.report.All = &together
	if err := e.drawOffsets(); err != nil {
		return err
	}
	for i, w := range all {
		clip := e.summary(w.name, &together, w)
		clip.Width, clip.Height, clip.Sheet = w.width, w.height, sheets[i]
		e.report.Clips = append(e.report.Clips, clip)
	}
	return nil
}

func (e *evaluation) drawOffsets() error {
	if e.opts.Sheets == "" {
		return nil
	}
	data := offsetsSVG(&e.report.All.SameRegion, e.report.Holdout.definitions())
	return os.WriteFile(filepath.Join(e.opts.Sheets, offsetsFile), data, 0o644) //nolint:gosec // part of the documentation
}

func (e *evaluation) save(name string, img *image.RGBA) (string, error) {
	if e.opts.Sheets == "" || img == nil {
		return "", nil
	}
	data, err := encode(img)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	name = name[:len(name)-len(filepath.Ext(name))] + ".jpg"
	return name, os.WriteFile(filepath.Join(e.opts.Sheets, name), data, 0o644) //nolint:gosec // part of the documentation
}

// summary measures clips; offsets are those of all clips together, if these are known.
func (e *evaluation) summary(name string, together *Clip, all ...*watched) Clip {
	c := Clip{Name: name}
	var seen []clipSeen
	var same, loop []pair
	var shapes []shown
	var poses []posed
	var sums Points
	for _, w := range all {
		c.Frames += w.frames
		c.Presence.add(w.presence)
		seen = append(seen, clipSeen{w.name, w.looked})
		same, loop = append(same, w.same...), append(loop, w.loop...)
		shapes, poses = append(shapes, w.shapes...), append(poses, w.poses...)
		sums.Missing, sums.Followed, sums.Ghosts = sums.Missing+w.missing, sums.Followed+w.followed, sums.Ghosts+w.ghosts
	}
	var sameOffsets, loopOffsets *marks
	if together != nil {
		sameOffsets, loopOffsets = together.SameRegion.Offsets, together.OwnLoop.Offsets
	}
	c.Detection = measureDetection(seen, all[0].threshold)
	definitions := e.report.Holdout.definitions()
	c.SameRegion, c.OwnLoop = measurePoints(same, sameOffsets, definitions), measurePoints(loop, loopOffsets, definitions)
	c.OwnLoop.Missing, c.OwnLoop.Followed, c.OwnLoop.Ghosts = sums.Missing, sums.Followed, sums.Ghosts
	c.Shapes, c.Pose = measureShapes(shapes), measurePose(poses)
	return c
}
