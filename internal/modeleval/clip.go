package modeleval

import (
	"context"
	"fmt"
	"math/rand/v2"

	"facetrack/vision"
)

const (
	referenceScore = 0.6 // of the reference's boxes whose points are looked for
	sameFaceIoU    = 0.4 // of the 68 points' boxes
	emptyEach      = 4   // regions a frame
)

// watched is everything that was seen in one clip.
type watched struct {
	name          string
	clip, frames  int
	threshold     float64
	width, height int
	looked        []looked
	same, loop    []pair
	missing       int // faces of the reference that the loop does not have
	followed      int // by the loop
	ghosts        int // of these
	shapes        []shown
	poses         []posed
	presence      Presence
	sheet         *sheet
}

// watcher watches one clip.
type watcher struct {
	ours, theirs *networks
	threshold    float64
	loop         loop
	people       follower
	out          *watched
	dice         *rand.Rand
}

func (e *evaluation) watch(ctx context.Context, clip int, path string) (*watched, error) {
	out := &watched{name: base(path), clip: clip, threshold: e.opts.Threshold, sheet: newSheet()}
	w := &watcher{
		ours: e.ours, theirs: e.theirs, threshold: e.opts.Threshold, out: out,
		loop: loop{net: e.ours, threshold: e.opts.Threshold},
		dice: rand.New(rand.NewPCG(1, uint64(clip))), //nolint:gosec // regions, no secrets
	}
	err := eachFrame(ctx, path, w.frame)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", out.name, err)
	}
	return out, nil
}

func (w *watcher) frame(m vision.Image) error {
	seen := looked{}
	var err error
	if seen.theirs, err = w.theirs.faces(m); err != nil {
		return err
	}
	if seen.ours, err = w.ours.faces(m); err != nil {
		return err
	}
	followed, err := w.loop.next(m, seen.ours)
	if err != nil {
		return err
	}
	reference, err := w.reference(m, seen.theirs)
	if err != nil {
		return err
	}
	if err := w.compare(m, reference, followed); err != nil {
		return err
	}
	if err := w.empty(m, seen, reference); err != nil {
		return err
	}
	w.ghosts(seen, reference, followed)
	w.out.sheet.add(m, w.drawing(seen, reference, followed))
	w.out.looked = append(w.out.looked, seen)
	w.out.width, w.out.height = m.Width, m.Height
	w.out.frames++
	return nil
}

// reference are the faces that the public networks see, each from the region that its own points give.
func (w *watcher) reference(m vision.Image, boxes []vision.Face) (faces []vision.FaceResult, err error) {
	var rois []vision.ROI
	for _, f := range above(boxes, referenceScore) {
		if r := vision.ROIFromFace(f); r.Validate() == nil {
			rois = append(rois, r)
		}
	}
	first, err := w.theirs.follow(m, rois)
	if err != nil {
		return nil, err
	}
	rois = nil
	for _, i := range vision.SuppressDuplicates(first) {
		if r, err := first[i].Next(); err == nil && first[i].Presence >= present && r.Validate() == nil {
			rois = append(rois, r)
		}
	}
	second, err := w.theirs.look(m, rois)
	for _, f := range second {
		if f.Presence >= present {
			faces = append(faces, f)
		}
	}
	return faces, err
}

// compare looks at the reference's regions and finds its faces among those that our loop follows.
func (w *watcher) compare(m vision.Image, reference, followed []vision.FaceResult) error {
	rois, boxes := make([]vision.ROI, len(reference)), make([]vision.Box, len(reference))
	for i, f := range reference {
		rois[i], boxes[i] = f.ROI, vision.PointsBox(f.Points)
	}
	same, err := w.ours.look(m, rois)
	if err != nil {
		return err
	}
	for i, who := range w.people.next(w.out.frames, boxes) {
		theirs := marksOf(w.theirs.set, reference[i].Points)
		pose, err := solve(w.theirs.solver, reference[i].Points, m)
		if err != nil {
			continue // no face that could be compared
		}
		p := pair{marksOf(w.ours.set, same[i].Points), theirs, pose.Yaw}
		w.out.same = append(w.out.same, p)
		w.expressions(who, &p, same[i], reference[i])
		if own, err := solve(w.ours.solver, same[i].Points, m); err == nil {
			w.out.poses = append(w.out.poses, posed{own.Rotation(), pose.Rotation()})
		}
		w.out.presence.add(Presence{Faces: 1, Seen: yes(same[i].Presence >= present)})
		if own, ok := w.among(theirs, followed); ok {
			w.out.loop = append(w.out.loop, pair{own, theirs, pose.Yaw})
		} else {
			w.out.missing++
		}
	}
	return nil
}

func (w *watcher) expressions(who int, p *pair, ours, theirs vision.FaceResult) {
	if !p.turned() && ours.Blendshapes != nil && theirs.Blendshapes != nil {
		w.out.shapes = append(w.out.shapes, shown{w.out.clip, who, ours.Blendshapes, theirs.Blendshapes})
	}
}

// among finds a face of the reference among those that our loop follows.
func (w *watcher) among(theirs marks, followed []vision.FaceResult) (own marks, ok bool) {
	most := sameFaceIoU
	for _, f := range followed {
		m := marksOf(w.ours.set, f.Points)
		if iou := m.box().IoU(theirs.box()); iou >= most {
			own, ok, most = m, true, iou
		}
	}
	return own, ok
}

// ghosts counts what our loop follows and nobody else sees.
func (w *watcher) ghosts(seen looked, reference, followed []vision.FaceResult) {
	for _, f := range followed {
		m := marksOf(w.ours.set, f.Points)
		iou := best(m.box(), seen.theirs, doubtScore)
		for _, r := range reference {
			theirs := marksOf(w.theirs.set, r.Points)
			iou = max(iou, m.box().IoU(theirs.box()))
		}
		w.out.followed++
		w.out.ghosts += yes(iou < alarmIoU)
	}
}

func (m *marks) box() vision.Box {
	points := make([][3]float64, len(m))
	for i, p := range m {
		points[i] = [3]float64{p[0], p[1]}
	}
	return vision.PointsBox(points)
}

// empty looks where there is no face.
func (w *watcher) empty(m vision.Image, seen looked, reference []vision.FaceResult) error {
	var boxes []vision.Box
	for _, f := range above(seen.theirs, 0.1) {
		boxes = append(boxes, f.Box)
	}
	for _, f := range reference {
		boxes = append(boxes, vision.PointsBox(f.Points))
	}
	rois := emptyRegions(w.dice, m, boxes, emptyEach)
	ours, err := w.ours.look(m, rois)
	if err != nil {
		return err
	}
	theirs, err := w.theirs.look(m, rois)
	if err != nil {
		return err
	}
	p := Presence{Empty: len(rois)}
	for i := range rois {
		p.Alarms += yes(ours[i].Presence >= present)
		p.theirs += yes(theirs[i].Presence >= present)
	}
	w.out.presence.add(p)
	return nil
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
