package modeleval

import (
	"context"
	"image"
	"math"
	"math/rand/v2"
	"path/filepath"

	"facetrack/track"
	"facetrack/vision"
)

// Holdout is what was measured on rendered pictures.
type Holdout struct {
	Seed   int `json:"seed"`
	Scenes int `json:"scenes"`
	Crops  int `json:"crops"`

	AP24 AP `json:"ap_24"`
	AP48 AP `json:"ap_48"`
	// From the region around the true points, from that region moved as a face moves from frame to frame, and after two steps of our own
	// that begin at the true box.
	Ideal Truth `json:"ideal_region"`
	Moved Truth `json:"moved_region"`
	Own   Truth `json:"own_steps"`

	// The reference from the region around the true points, and how far the true points of faces that are not turned away, little hidden and
	// seen by the reference lie from its own: a matter of definition, as far as it sees rendered faces as it sees others.
	Reference   *Truth  `json:"reference,omitempty"`
	Definitions *Points `json:"truth_less_reference,omitempty"`

	Seen       int     `json:"presence_faces_seen"`
	SeenShare  float64 `json:"presence_seen_share"`
	Nobody     int     `json:"presence_nobody"`
	Alarms     int     `json:"presence_false_alarms"`
	AlarmShare float64 `json:"presence_false_alarm_share"`
}

// Truth are mean errors of the face network.
type Truth struct {
	Faces        int     `json:"faces"`
	Error3D      float64 `json:"points68"` // in parts of the distance between the corners of the eyes
	Error2D      float64 `json:"points68_2d"`
	Median       float64 `json:"points68_median"`
	Straight     float64 `json:"points68_straight"` // mean of those whose yaw is at most 60°
	Groups       []Part  `json:"groups"`
	All          float64 `json:"points_all"`
	Coefficients float64 `json:"coefficients"`
	Pose         float64 `json:"pose_degrees"` // of the network itself, along the line of sight; 0 without
}

// Part is the mean error of a part of the face.
type Part struct {
	Name  string  `json:"name"`
	Error float64 `json:"error"`
}

// Movement of a face between frames, as training/targets.py has it: in parts of the side, logarithm, radians.
const movedShift, movedScale, movedTurn = 0.025, 0.06, 5 * math.Pi / 180

// rendered measures the folder of rendered pictures.
func (e *evaluation) rendered(ctx context.Context) error {
	folder := e.opts.Holdout
	if folder == "" {
		e.leaveOut("rendered pictures: make them with training/holdout.py --out FOLDER and name the folder with --holdout or FACETRACK_HOLDOUT")
		return nil
	}
	t, err := readTruth(folder)
	if err != nil {
		return err
	}
	e.opts.Note("%d rendered scenes and %d crops …", len(t.Scenes), len(t.Crops))
	h := &Holdout{Seed: t.Seed, Scenes: len(t.Scenes), Crops: len(t.Crops)}
	if err := e.scenes(ctx, folder, t.Scenes, h); err != nil {
		return err
	}
	if err := e.crops(ctx, folder, t.Crops, h); err != nil {
		return err
	}
	e.report.Holdout = h
	return nil
}

func (e *evaluation) scenes(ctx context.Context, folder string, scenes []truthScene, h *Holdout) error {
	sheet := newGrid(len(scenes), 12, 3, image.Pt(320, 240))
	limits := []float64{24, 48}
	verdicts, faces := make([][]verdict, len(limits)), make([]int, len(limits))
	for _, scene := range scenes {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := readPicture(filepath.Join(folder, scene.File))
		if err != nil {
			return err
		}
		found, err := e.ours.faces(m)
		if err != nil {
			return err
		}
		for i, least := range limits {
			all := scene.sought(m, least)
			verdicts[i] = append(verdicts[i], judge(found, all)...)
			for _, f := range all {
				faces[i] += yes(f.wanted)
			}
		}
		sheet.add(m, vision.Box{0, 0, float64(m.Width), float64(m.Height)}, func(v view) {
			for _, f := range scene.sought(m, limits[0]) {
				if f.wanted {
					v.frame(f.box, theirColour)
				}
			}
			for _, f := range above(found, e.opts.Threshold) {
				v.frame(f.Box, ourColour)
			}
		})
	}
	for i, out := range []*AP{&h.AP24, &h.AP48} {
		*out = averagePrecision(verdicts[i], faces[i], e.opts.Threshold)
		out.Side = limits[i]
	}
	_, err := e.save("holdout-scenes", sheet.out)
	return err
}

// sought are the faces of a scene that may be found at all.
func (s *truthScene) sought(m vision.Image, least float64) (all []sought) {
	for i := range s.Faces {
		if f := &s.Faces[i]; !f.Nobody && inside(f.Box, m) > 0.02 {
			all = append(all, sought{f.Box, f.wanted(m, least)})
		}
	}
	return all
}

// tested are faces from one kind of region.
type tested struct {
	error3D, straight, error2D, all, coefficients, pose []float64
	groups                                              [][]float64
}

func (e *evaluation) crops(ctx context.Context, folder string, crops []truthCrop, h *Holdout) error {
	var ideal, moved, own, theirs tested
	var pairs []pair
	sheet := newGrid(len(crops), 24, 6, image.Pt(200, 200))
	dice := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // regions, no secrets
	described := 0
	for i := range crops {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &crops[i]
		m, err := readPicture(filepath.Join(folder, c.File))
		if err != nil {
			return err
		}
		region, err := vision.ROIFromPoints(c.all())
		if err != nil {
			return err
		}
		results, err := e.ours.look(m, []vision.ROI{region, movedRegion(dice, region)})
		if err != nil {
			return err
		}
		sees := results[1].Presence >= present
		switch {
		case c.Nobody:
			h.Nobody, h.Alarms = h.Nobody+1, h.Alarms+yes(sees)
			continue
		case c.Shown < leastShown:
			continue
		}
		described++
		h.Seen += yes(sees)
		ideal.add(e.ours, c, results[0])
		moved.add(e.ours, c, results[1])
		result, err := e.steps(m, c)
		if err != nil {
			return err
		}
		own.add(e.ours, c, result)
		if e.theirs != nil {
			p, err := e.defined(m, c, region, &theirs)
			if err != nil {
				return err
			}
			pairs = append(pairs, p...)
		}
		known, ours := c.marks(), marksOf(e.ours.set, results[1].Points)
		sheet.add(m, around(known.box()), func(v view) {
			v.dots(&known, theirColour)
			v.dots(&ours, ourColour)
		})
	}
	h.SeenShare, h.AlarmShare = ratio(float64(h.Seen), float64(described)), ratio(float64(h.Alarms), float64(h.Nobody))
	h.Ideal, h.Moved, h.Own = ideal.truth(), moved.truth(), own.truth()
	if e.theirs != nil {
		t, p := theirs.truth(), measurePoints(pairs, nil, nil)
		h.Reference, h.Definitions = &t, &p
	}
	_, err := e.save("holdout-crops", sheet.out)
	return err
}

// wellShown is the least share of a face's points from which it tells of definitions.
const wellShown = 0.7

// defined looks at a crop with the reference, and pairs its points with the true ones if it sees the face well.
func (e *evaluation) defined(m vision.Image, c *truthCrop, region vision.ROI, all *tested) ([]pair, error) {
	results, err := e.theirs.look(m, []vision.ROI{region})
	if err != nil {
		return nil, err
	}
	all.add(e.theirs, c, results[0])
	if c.Shown < wellShown || results[0].Presence < present {
		return nil, nil
	}
	return []pair{{c.marks(), marksOf(e.theirs.set, results[0].Points), c.Pose[1]}}, nil
}

// definitions are nil where they are not known.
func (h *Holdout) definitions() *marks {
	if h == nil || h.Definitions == nil || h.Definitions.Faces == 0 {
		return nil
	}
	return h.Definitions.Offsets
}

// steps are two of our own from where a perfect detector sees the face.
func (e *evaluation) steps(m vision.Image, c *truthCrop) (vision.FaceResult, error) {
	first, err := e.ours.follow(m, []vision.ROI{vision.ROIFromFace(vision.Face{Box: c.Box, KeyPoints: c.Five})})
	if err != nil {
		return vision.FaceResult{}, err
	}
	next, err := first[0].Next()
	if err != nil || next.Validate() != nil {
		return first[0], nil //nolint:nilerr // points that collapsed are an error to be measured
	}
	second, err := e.ours.look(m, []vision.ROI{next})
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

func (t *tested) add(net *networks, c *truthCrop, f vision.FaceResult) {
	ours, scale := marksOf(net.set, f.Points), c.corners(3)
	away := make([]float64, len(ours))
	for i, p := range ours {
		away[i] = math.Hypot(p[0]-c.Points[i][0], p[1]-c.Points[i][1]) / scale
	}
	t.error3D = append(t.error3D, mean(away))
	if math.Abs(c.Pose[1]) <= farTurned {
		t.straight = append(t.straight, mean(away))
	}
	t.error2D = append(t.error2D, mean(away)*scale/max(c.corners(2), 1e-3*scale))
	if t.groups == nil {
		t.groups = make([][]float64, len(groups))
	}
	for i, g := range groups {
		t.groups[i] = append(t.groups[i], mean(away[g.from:g.to]))
	}
	if len(f.Points) == len(c.Points) {
		dense := make([]float64, len(f.Points))
		for i, p := range f.Points {
			dense[i] = math.Hypot(p[0]-c.Points[i][0], p[1]-c.Points[i][1]) / scale
		}
		t.all = append(t.all, mean(dense))
	}
	for i, v := range f.Blendshapes {
		t.coefficients = append(t.coefficients, math.Abs(v-c.Coefficients[i]))
	}
	if f.Turn != nil {
		t.pose = append(t.pose, between(track.Rotation(*f.Turn), c.apparent()))
	}
}

func (t *tested) truth() Truth {
	out := Truth{
		Faces: len(t.error3D), Error3D: mean(t.error3D), Error2D: mean(t.error2D), Median: median(t.error3D), Straight: mean(t.straight), All: mean(t.all),
		Coefficients: mean(t.coefficients), Pose: mean(t.pose), Groups: []Part{},
	}
	for i, g := range groups[:min(len(groups), len(t.groups))] {
		out.Groups = append(out.Groups, Part{g.name, mean(t.groups[i])})
	}
	return out
}
