package modeleval

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"path/filepath"

	"facetrack/vision"
)

// Movement of a face between frames, as training/targets.py has it: in parts of the side, logarithm, radians.
const movedShift, movedScale, movedTurn = 0.025, 0.06, 5 * math.Pi / 180

// cropTest measures the face network on crops.
type cropTest struct {
	*evaluation
	ideal, moved, own, reference tested
	pairs                        []pair // of the truth and the reference
	dice                         *rand.Rand
	sheet                        *grid
	described                    int
}

func (e *evaluation) crops(ctx context.Context, folder string, crops []truthCrop, h *Holdout) error {
	t := &cropTest{
		evaluation: e, sheet: newGrid(len(crops), 24, 6, image.Pt(200, 200)),
		dice: rand.New(rand.NewPCG(2, 2)), //nolint:gosec // regions, no secrets
	}
	for i := range crops {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := readPicture(filepath.Join(folder, crops[i].File))
		if err != nil {
			return err
		}
		if err := t.add(m, &crops[i], h); err != nil {
			return fmt.Errorf("%s: %w", crops[i].File, err)
		}
	}
	t.sum(h)
	_, err := e.save("holdout-crops", t.sheet.out)
	return err
}

func (t *cropTest) add(m vision.Image, c *truthCrop, h *Holdout) error {
	region, err := vision.ROIFromPoints(c.all())
	if err != nil {
		return err
	}
	results, err := t.ours.look(m, []vision.ROI{region, movedRegion(t.dice, region)})
	if err != nil {
		return err
	}
	sees := yes(results[1].Presence >= present)
	if c.Nobody {
		h.Nobody, h.Alarms = h.Nobody+1, h.Alarms+sees
		return nil
	}
	if c.Shown < leastShown {
		return nil
	}
	t.described, h.Seen = t.described+1, h.Seen+sees
	t.ideal.add(t.ours, c, results[0])
	t.moved.add(t.ours, c, results[1])
	result, err := t.steps(m, c)
	if err != nil {
		return err
	}
	t.own.add(t.ours, c, result)
	t.draw(m, c, marksOf(t.ours.set, results[1].Points))
	return t.define(m, c, region)
}

func (t *cropTest) sum(h *Holdout) {
	h.SeenShare, h.AlarmShare = ratio(float64(h.Seen), float64(t.described)), ratio(float64(h.Alarms), float64(h.Nobody))
	h.Ideal, h.Moved, h.Own = t.ideal.truth(), t.moved.truth(), t.own.truth()
	if t.theirs != nil {
		reference, definitions := t.reference.truth(), measurePoints(t.pairs, nil, nil)
		h.Reference, h.Definitions = &reference, &definitions
	}
}

func (t *cropTest) draw(m vision.Image, c *truthCrop, ours marks) {
	known := c.marks()
	t.sheet.add(m, around(known.box()), func(v view) {
		v.dots(&known, theirColour)
		v.dots(&ours, ourColour)
	})
}

// wellShown is the least share of a face's points from which it tells of definitions.
const wellShown = 0.7

// define looks at a crop with the reference, and pairs its points with the true ones if it sees the face well.
func (t *cropTest) define(m vision.Image, c *truthCrop, region vision.ROI) error {
	net := t.theirs
	if net == nil {
		return nil
	}
	results, err := net.look(m, []vision.ROI{region})
	if err != nil {
		return err
	}
	t.reference.add(net, c, results[0])
	if c.Shown >= wellShown && results[0].Presence >= present {
		t.pairs = append(t.pairs, pair{c.marks(), marksOf(net.set, results[0].Points), c.Pose[1]})
	}
	return nil
}

// steps are two of our own from where a perfect detector sees the face.
func (t *cropTest) steps(m vision.Image, c *truthCrop) (vision.FaceResult, error) {
	first, err := t.ours.follow(m, []vision.ROI{vision.ROIFromFace(vision.Face{Box: c.Box, KeyPoints: c.Five})})
	if err != nil {
		return vision.FaceResult{}, err
	}
	next, err := first[0].Next()
	if err != nil || next.Validate() != nil {
		return first[0], nil //nolint:nilerr // points that collapsed are an error to be measured
	}
	second, err := t.ours.look(m, []vision.ROI{next})
	if err != nil {
		return vision.FaceResult{}, err
	}
	return second[0], nil
}

func movedRegion(dice *rand.Rand, r vision.ROI) vision.ROI {
	return vision.ROI{
		CX: r.CX + dice.NormFloat64()*movedShift*r.Size, CY: r.CY + dice.NormFloat64()*movedShift*r.Size,
		Size: r.Size * math.Exp(dice.NormFloat64()*movedScale), Rotation: r.Rotation + dice.NormFloat64()*movedTurn,
	}
}
