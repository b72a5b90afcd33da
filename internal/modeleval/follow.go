package modeleval

import "facetrack/vision"

const (
	followIoU = 0.3
	longest   = 10 // frames that a face may be missing
	shortest  = 5  // frames that make a face count by itself
)

// followed is a face that is followed through a clip.
type followed struct {
	box   vision.Box
	last  int
	id    int
	taken bool
}

// follower tells which box of a frame is whose.
type follower struct {
	faces []*followed
	count int
}

// next returns the number of the face of each box of a frame; the boxes that overlap most with where a face was come first.
func (f *follower) next(frame int, boxes []vision.Box) []int {
	ids := make([]int, len(boxes))
	for i := range ids {
		ids[i] = -1
	}
	for _, face := range f.faces {
		face.taken = frame-face.last > longest+1
	}
	for {
		box, face, most := -1, (*followed)(nil), followIoU
		for i, b := range boxes {
			for _, known := range f.faces {
				if iou := b.IoU(known.box); ids[i] < 0 && !known.taken && iou >= most {
					box, face, most = i, known, iou
				}
			}
		}
		if face == nil {
			break
		}
		face.box, face.last, face.taken, ids[box] = boxes[box], frame, true, face.id
	}
	for i, b := range boxes {
		if ids[i] < 0 {
			ids[i] = f.count
			f.faces = append(f.faces, &followed{box: b, last: frame, id: f.count})
			f.count++
		}
	}
	return ids
}

// foundFaces are the wanted faces of a clip that are there for long enough, and the IoU of everything that was found.
func foundFaces(frames []looked, threshold float64) (faces []FoundFace, overlaps []float64) {
	var f follower
	var sides [][]float64
	var all []FoundFace
	for i, frame := range frames {
		var boxes []vision.Box
		for _, face := range frame.theirs {
			if wanted(face) {
				boxes = append(boxes, face.Box)
			}
		}
		for k, id := range f.next(i, boxes) {
			if id == len(all) {
				all, sides = append(all, FoundFace{}), append(sides, nil)
			}
			all[id].Frames++
			sides[id] = append(sides[id], side(boxes[k]))
			if iou := best(boxes[k], frame.ours, threshold); iou >= foundIoU {
				all[id].Found++
				overlaps = append(overlaps, iou)
			}
		}
	}
	least := min(shortest, (len(frames)+1)/2)
	for id, face := range all {
		if face.Frames >= least {
			face.Side, face.Share = median(sides[id]), ratio(float64(face.Found), float64(face.Frames))
			faces = append(faces, face)
		}
	}
	return faces, overlaps
}
