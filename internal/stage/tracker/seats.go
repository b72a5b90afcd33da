package tracker

import (
	"facetrack/internal/config"
	"facetrack/ipc"
)

// leaning is how far beyond an area, in parts of it, somebody stays who sat there in the frame before.
const leaning = 0.1

// seats tell which face of a camera is which participant of the configuration.
type seats []seat

type seat struct {
	who  config.Participant
	last int // identity of who was there last; 0: nobody
}

func newSeats(participants []config.Participant) (s seats) {
	for _, p := range participants {
		s = append(s, seat{who: p})
	}
	return s
}

// name writes the participants' names into the faces of a frame of the given size. A face has one name at most, and who is meant by
// number comes before who is in an area.
func (s seats) name(faces []ipc.TrackedFace, width, height int) {
	for _, byNumber := range []bool{true, false} {
		for i := range s {
			if (s[i].who.Identity > 0) != byNumber {
				continue
			}
			if f := s[i].find(faces, float64(width), float64(height)); f != nil {
				f.Participant, s[i].last = s[i].who.Name, f.ID
			}
		}
	}
}

// find is the participant's face, nil when it is not in the frame: in an area the one that was there in the frame before, else the largest.
func (s *seat) find(faces []ipc.TrackedFace, width, height float64) (best *ipc.TrackedFace) {
	for i := range faces {
		f := &faces[i]
		switch {
		case f.Participant != "":
		case s.who.Identity > 0:
			if f.ID == s.who.Identity {
				return f
			}
		case !s.holds(f, width, height):
		case f.ID == s.last:
			return f
		case best == nil || f.Box[2]*f.Box[3] > best.Box[2]*best.Box[3]:
			best = f
		}
	}
	return best
}

// holds tells whether the middle of a face is in the area.
func (s *seat) holds(f *ipc.TrackedFace, width, height float64) bool {
	a := s.who.Area
	x, y := (f.Box[0]+f.Box[2]/2)/width, (f.Box[1]+f.Box[3]/2)/height
	dx, dy := 0.0, 0.0
	if f.ID == s.last {
		dx, dy = leaning*(a[2]-a[0]), leaning*(a[3]-a[1])
	}
	return a[0]-dx <= x && x <= a[2]+dx && a[1]-dy <= y && y <= a[3]+dy
}
