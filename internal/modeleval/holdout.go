package modeleval

import (
	"context"
	"image"
	"path/filepath"

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

// definitions are nil where they are not known.
func (h *Holdout) definitions() *marks {
	if h == nil || h.Definitions == nil || h.Definitions.Faces == 0 {
		return nil
	}
	return h.Definitions.Offsets
}
