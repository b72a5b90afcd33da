package modeleval

import "facetrack/vision"

// doubtedPresence is the least presence of a face that the detector sees too, as in the program.
const doubtedPresence = 0.002

// loop follows faces as the program does, with a detector that looks at every frame.
type loop struct {
	net       *networks
	threshold float64
	known     []vision.FaceResult
}

// next returns the faces of the next frame, in which the detector sees found.
func (l *loop) next(m vision.Image, found []vision.Face) ([]vision.FaceResult, error) {
	found = above(found, l.threshold)
	rois, vouched := l.regions(found)
	results, err := l.net.follow(m, rois)
	if err != nil {
		return nil, err
	}
	l.known = nil
	for _, i := range vision.SuppressDuplicates(results) {
		if r := results[i]; r.Presence >= present || vouched[i] && r.Presence >= doubtedPresence {
			l.known = append(l.known, r)
		}
	}
	return l.known, nil
}

// regions are those of known faces, then of detections that are none of them; and whether the detector sees each.
func (l *loop) regions(found []vision.Face) (rois []vision.ROI, vouched []bool) {
	var boxes []vision.Box
	for _, k := range l.known {
		r, err := k.Next()
		if err != nil || r.Validate() != nil {
			continue
		}
		box := vision.PointsBox(k.Points)
		rois, boxes = append(rois, r), append(boxes, box)
		vouched = append(vouched, len(vision.MatchDetections(found, []vision.Box{box})) < len(found))
	}
	for _, i := range vision.MatchDetections(found, boxes) {
		if r := vision.ROIFromFace(found[i]); r.Validate() == nil {
			rois, vouched = append(rois, r), append(vouched, true)
		}
	}
	return rois, vouched
}
