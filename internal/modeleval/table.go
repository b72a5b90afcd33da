package modeleval

import (
	"fmt"
	"strings"
)

// table is a part of the report: for the terminal in columns, for documents in Markdown.
type table struct {
	title, note string
	rows        [][]string // the first names the columns
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// share is a part of so many, nothing of nothing.
func share(part float64, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%s of %d", percent(part), whole)
}

// only is a value that there is for some faces alone.
func only(faces int, value string) string {
	if faces == 0 {
		return "–"
	}
	return value
}

// signed is an offset in percent.
func signed(share float64) string { return fmt.Sprintf("%+.1f", 100*share) }

func number(n int) string { return fmt.Sprint(n) }

// tables are the whole report.
func (r *Report) tables() []table {
	out := []table{r.verdicts()}
	if r.All != nil {
		out = append(out, r.found(), r.scores(), r.points(), r.parts(), r.coefficients(), r.heads())
	}
	if r.Holdout != nil {
		out = append(out, r.Holdout.detector(), r.Holdout.points())
	}
	return out
}

func (r *Report) verdicts() table {
	t := table{title: "Requirements", rows: [][]string{{"requirement", "value", "limit", "kept"}}}
	for _, q := range r.Requirements {
		limit, kept := "≤ ", "no"
		if q.AtLeast {
			limit = "≥ "
		}
		if q.Kept {
			kept = "yes"
		}
		t.rows = append(t.rows, []string{q.Name, fmt.Sprintf("%.3f", q.Value), limit + fmt.Sprint(q.Limit), kept})
	}
	return t
}

// every are the clips, then all of them together.
func (r *Report) every() []Clip {
	all := append([]Clip{}, r.Clips...)
	return append(all, *r.All)
}

func (r *Report) found() table {
	t := table{
		title: "Faces found",
		note:  fmt.Sprintf("Beside the reference detector, at our threshold of %g. A face's share is that of its frames in which ours finds it.", r.Threshold),
		rows:  [][]string{{"clip", "frames", "faces: share of their frames (side)", "recall", "precision", "false alarms", "mean IoU", "recall, 16 to 32 px"}},
	}
	for _, c := range r.every() {
		d := c.Detection
		var faces []string
		for _, f := range d.Faces {
			faces = append(faces, fmt.Sprintf("%.0f %% (%.0f px)", 100*f.Share, f.Side))
		}
		list := strings.Join(faces, ", ")
		if c.Name == "all" {
			list = fmt.Sprintf("%d faces", len(d.Faces))
		}
		t.rows = append(t.rows, []string{
			c.Name, number(c.Frames), list, only(d.Wanted, percent(d.Recall)), only(d.Boxes, percent(d.Precision)), share(d.AlarmShare, d.Boxes),
			only(d.Wanted, fmt.Sprintf("%.2f", d.MeanIoU)), share(d.SmallRecall, d.Small),
		})
	}
	return t
}

func (r *Report) scores() table {
	t := table{title: "Thresholds", note: "All clips.", rows: [][]string{{"threshold", "recall", "precision", "false alarms"}}}
	for _, s := range r.All.Detection.AtThreshold {
		t.rows = append(t.rows, []string{fmt.Sprintf("%.2f", s.Threshold), percent(s.Recall), percent(s.Precision), percent(s.AlarmShare)})
	}
	return t
}

func (r *Report) points() table {
	t := table{
		title: "68 points",
		note:  "In percent of the distance between the outer corners of the eyes: median, ninth tenth, and the median without the mean offset that each point has over all clips. Not followed are faces of the reference that our loop does not have; ghosts are what it follows and nobody else sees.",
		rows: [][]string{{
			"clip", "faces", "same region", "90 %", "without offsets", "own loop", "90 %", "without offsets", "not followed", "ghosts", "turned > 60°: same region",
		}},
	}
	for _, c := range r.every() {
		s, l := c.SameRegion, c.OwnLoop
		t.rows = append(t.rows, []string{
			c.Name, number(s.Faces), only(s.Faces, percent(s.Median)), only(s.Faces, percent(s.P90)), only(s.Faces, percent(s.Remaining)),
			only(l.Faces, percent(l.Median)), only(l.Faces, percent(l.P90)), only(l.Faces, percent(l.Remaining)), number(l.Missing), fmt.Sprintf("%d of %d", l.Ghosts, l.Followed), share(s.Turned.Median, s.Turned.Faces),
		})
	}
	return t
}

func (r *Report) parts() table {
	t := table{
		title: "Parts of the face",
		note:  "All clips, same region; offsets are ours less the reference's in percent, x to the subject's left eye, y to the chin.",
		rows:  [][]string{{"part", "median", "90 %", "without offsets", "offset x", "offset y"}},
	}
	known := r.Holdout.definitions() != nil
	if known {
		t.note += " Those of the truth are true points less the reference's on rendered faces: what a perfect network of ours would show, if the reference is as good on those."
		t.rows[0] = append(t.rows[0], "truth x", "truth y", "without those")
	}
	for i, g := range r.All.SameRegion.Groups {
		row := []string{g.Name, percent(g.Median), percent(g.P90), percent(g.Remaining), signed(g.Offset[0]), signed(g.Offset[1])}
		if known {
			d := r.Holdout.Definitions.Groups[i]
			row = append(row, signed(d.Offset[0]), signed(d.Offset[1]), percent(g.Undefined))
		}
		t.rows = append(t.rows, row)
	}
	if s := r.All.SameRegion; known {
		t.rows = append(t.rows, []string{"all", percent(s.Median), percent(s.P90), percent(s.Remaining), "", "", "", "", percent(s.Undefined)})
	}
	return t
}

func (r *Report) coefficients() table {
	t := table{
		title: "Blendshapes",
		note:  "Correlation with the reference's over all faces of all clips, with each face's own mean taken off, and in each clip in which it varies.",
		rows:  [][]string{{"coefficient", "all", "within faces", "mean difference", "bias"}},
	}
	var names []string
	for _, c := range r.Clips {
		if c.Frames > 1 {
			names = append(names, c.Name)
		}
	}
	t.rows[0] = append(t.rows[0], names...)
	s := r.All.Shapes
	for _, shape := range s.Coefficients {
		row := []string{shape.Name, fmt.Sprintf("%.2f", shape.Correlation), fmt.Sprintf("%.2f", shape.WithinFace), fmt.Sprintf("%.3f", shape.Difference), fmt.Sprintf("%+.3f", shape.Bias)}
		for _, name := range names {
			row = append(row, r.of(name, shape.Name))
		}
		t.rows = append(t.rows, row)
	}
	t.rows = append(t.rows, []string{"median; mean difference of all 52", fmt.Sprintf("%.2f", s.Correlation), fmt.Sprintf("%.2f", s.WithinFace), fmt.Sprintf("%.3f", s.Difference), ""})
	return t
}

// of is a coefficient's correlation in a clip, "" where it does not vary.
func (r *Report) of(clip, coefficient string) string {
	for _, c := range r.Clips {
		for _, s := range c.Shapes.Coefficients {
			if c.Name == clip && s.Name == coefficient {
				return fmt.Sprintf("%.2f", s.Correlation)
			}
		}
	}
	return ""
}

func (r *Report) heads() table {
	t := table{
		title: "Presence and pose",
		note:  "Faces of the reference that our network sees too; regions without a face in which it sees one (and the reference); degrees between both poses, and ours less the reference's.",
		rows:  [][]string{{"clip", "faces seen", "empty regions", "ours says face", "reference says face", "pose median", "90 %", "pitch", "yaw", "roll"}},
	}
	for _, c := range r.every() {
		p, q := c.Presence, c.Pose
		t.rows = append(t.rows, []string{
			c.Name, share(p.SeenShare, p.Faces), number(p.Empty), percent(p.AlarmShare), percent(p.TheirAlarmShare),
			degrees(q.Median), degrees(q.P90), fmt.Sprintf("%+.1f", q.Pitch), fmt.Sprintf("%+.1f", q.Yaw), fmt.Sprintf("%+.1f", q.Roll),
		})
	}
	return t
}

// zero leaves out what a network does not tell.
func zero(v float64, as func(float64) string) string {
	if v == 0 {
		return "–"
	}
	return as(v)
}

func degrees(v float64) string { return fmt.Sprintf("%.1f°", v) }

func (h *Holdout) detector() table {
	t := table{
		title: "Rendered scenes",
		note:  fmt.Sprintf("%d scenes of 640×480 px that no training has seen (seed %d).", h.Scenes, h.Seed),
		rows:  [][]string{{"faces from", "faces", "average precision", "recall", "precision"}},
	}
	for _, a := range []AP{h.AP24, h.AP48} {
		t.rows = append(t.rows, []string{fmt.Sprintf("%g px", a.Side), number(a.Faces), fmt.Sprintf("%.3f", a.AP), percent(a.Recall), percent(a.Precision)})
	}
	return t
}

func (h *Holdout) points() table {
	t := table{
		title: "Rendered crops",
		note: fmt.Sprintf("%d crops. Points in percent of the distance between the outer corners of the eyes. Presence: %s of the faces seen, %d of %d regions without anybody taken for a face.",
			h.Crops, percent(h.SeenShare), h.Alarms, h.Nobody),
		rows: [][]string{{"region", "faces", "68 points, mean", "yaw ≤ 60°", "median", "2-D", "all points", "coefficients", "pose"}},
	}
	for _, g := range groups {
		t.rows[0] = append(t.rows[0], g.name)
	}
	type line struct {
		name string
		t    Truth
	}
	lines := []line{{"around the true points", h.Ideal}, {"the same, moved as between frames", h.Moved}, {"two own steps from the true box", h.Own}}
	if h.Reference != nil {
		lines = append(lines, line{"the reference, around the true points", *h.Reference})
	}
	for _, k := range lines {
		row := []string{
			k.name, number(k.t.Faces), percent(k.t.Error3D), percent(k.t.Straight), percent(k.t.Median), percent(k.t.Error2D), zero(k.t.All, percent),
			fmt.Sprintf("%.3f", k.t.Coefficients), zero(k.t.Pose, degrees),
		}
		for _, g := range k.t.Groups {
			row = append(row, percent(g.Error))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
