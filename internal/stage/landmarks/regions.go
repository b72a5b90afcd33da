package landmarks

import (
	"facetrack/ipc"
	"facetrack/vision"
)

// Sources of a region, as in ipc.FaceLandmarks.
const (
	sourceDetection = "detection"
	sourceTracked   = "tracked"
)

// regions remembers where the faces of one camera were in its last frame.
type regions struct {
	limit  int   // of faces
	timeNS int64 // of the last frame, see ipc.Frame.TimeNS
	known  []known
}

type known struct {
	place
	vouched bool // the detector saw it when it last looked
}

// place is where to look for a face that was found.
type place struct {
	roi vision.ROI
	box vision.Box // of the points
}

// placeOf fails for points that collapsed: they are no face to follow.
func placeOf(points [][3]float64) (place, error) {
	roi, err := vision.ROIFromPoints(points)
	return place{roi, vision.PointsBox(points)}, err
}

type candidate struct {
	roi     vision.ROI
	source  string
	vouched bool
}

// vouchedPresence is the least presence of a face that the detector sees as well. The landmark network was trained
// on larger faces: those of about 20 px it often doubts where the detector does not.
const vouchedPresence = 0.002

// restore takes over the faces of the tracker's last result, when it is recent enough.
func (r *regions) restore(last *ipc.Tracks, nowNS int64) {
	if last == nil || nowNS-last.TimeNS() > ipc.FollowNS {
		return
	}
	r.timeNS = last.TimeNS()
	for _, f := range last.Faces {
		if p, err := placeOf(points64(f.Points)); err == nil {
			r.known = append(r.known, known{p, true})
		}
	}
}

// candidates are the regions to look at: known faces first, then detections that none of them covers.
func (r *regions) candidates(d ipc.Detections) []candidate {
	if d.TimeNS()-r.timeNS > ipc.FollowNS {
		r.known = nil
	}
	faces := make([]vision.Face, len(d.Faces))
	for i, f := range d.Faces {
		faces[i] = vision.Face{Box: f.Box, Score: f.Score, KeyPoints: f.KeyPoints}
	}
	var out []candidate
	var boxes []vision.Box
	for _, k := range r.known {
		if d.Ran {
			k.vouched = len(vision.MatchDetections(faces, []vision.Box{k.box})) < len(faces)
		}
		out = append(out, candidate{k.roi, sourceTracked, k.vouched})
		boxes = append(boxes, k.box)
	}
	for _, i := range vision.MatchDetections(faces, boxes) {
		if roi := vision.ROIFromFace(faces[i]); roi.Validate() == nil {
			out = append(out, candidate{roi, sourceDetection, true})
		}
	}
	return out[:min(len(out), r.limit)]
}

// keep takes the faces that are present, each once, remembers them and returns them as a message says them.
func (r *regions) keep(timeNS int64, from []candidate, all found, minPresence float64) []ipc.FaceLandmarks {
	r.timeNS, r.known = timeNS, nil
	faces := []ipc.FaceLandmarks{}
	for _, i := range vision.SuppressDuplicates(all.results) {
		f := all.results[i]
		if f.Presence < minPresence && !(from[i].vouched && f.Presence >= vouchedPresence) {
			continue
		}
		if p, err := all.place(i); err == nil {
			r.known = append(r.known, known{p, from[i].vouched})
		}
		faces = append(faces, ipc.FaceLandmarks{
			ROI:      ipc.ROI{CX: f.ROI.CX, CY: f.ROI.CY, Size: f.ROI.Size, Rotation: f.ROI.Rotation},
			Presence: f.Presence, Points: points32(f.Points), Blendshapes: f.Blendshapes, Appearance: f.Appearance,
			Source: from[i].source, Confidence: f.Confidence,
		})
	}
	return faces
}

func rois(candidates []candidate) []vision.ROI {
	out := make([]vision.ROI, len(candidates))
	for i, c := range candidates {
		out[i] = c.roi
	}
	return out
}

func points32(points [][3]float64) ipc.Points {
	out := make(ipc.Points, len(points))
	for i, p := range points {
		out[i] = [3]float32{float32(p[0]), float32(p[1]), float32(p[2])}
	}
	return out
}

func points64(points ipc.Points) [][3]float64 {
	out := make([][3]float64, len(points))
	for i, p := range points {
		out[i] = [3]float64{float64(p[0]), float64(p[1]), float64(p[2])}
	}
	return out
}
