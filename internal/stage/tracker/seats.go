package tracker

import (
	"slices"

	"facetrack/internal/config"
	"facetrack/ipc"
)

const (
	leaning = 0.1           // how far beyond an area, in parts of it, somebody stays who sits there
	keptNS  = 1_000_000_000 // how long a seat is kept for somebody who is not seen: behind a hand, say, while others are in the area
)

// seats tell which face of a camera is which participant of the configuration.
type seats []seat

type seat struct {
	who  config.Participant
	last int              // identity of who sits there, until somebody else does or they are seen elsewhere; 0: nobody
	seen int64            // when they were there last
	free bool             // in the frame that is being named: nobody is waited for
	face *ipc.TrackedFace // of that frame
}

func newSeats(participants []config.Participant) (s seats) {
	for _, p := range participants {
		s = append(s, seat{who: p})
	}
	return s
}

// claims are the reasons for which a face is a participant's, the best first: a number, having sat in the area before, being in it now.
var claims = []func(s *seat, f *ipc.TrackedFace, x, y float64) bool{
	func(s *seat, f *ipc.TrackedFace, _, _ float64) bool {
		return s.who.Identity > 0 && f.ID == s.who.Identity
	},
	func(s *seat, f *ipc.TrackedFace, x, y float64) bool { return f.ID == s.last && s.holds(x, y, leaning) },
	func(s *seat, _ *ipc.TrackedFace, x, y float64) bool { return s.free && s.holds(x, y, 0) },
}

// name writes the participants' names into the faces of a frame of the given size and time. A face has one name at most. Of several who come to
// an area the one with the largest face is meant, of several areas around a face the first.
func (s seats) name(faces []ipc.TrackedFace, width, height int, now int64) {
	w, h := float64(width), float64(height)
	for i := range s {
		s[i].expect(faces, w, h, now)
	}
	for _, claim := range claims {
		for i := range s {
			if s[i].face == nil {
				s[i].seat(faces, func(f *ipc.TrackedFace) bool {
					x, y := middle(f, w, h)
					return claim(&s[i], f, x, y)
				})
			}
		}
	}
	for i := range s {
		s[i].rise(now)
	}
}

// seat gives the participant the largest face without name that is theirs.
func (s *seat) seat(faces []ipc.TrackedFace, theirs func(*ipc.TrackedFace) bool) {
	for i := range faces {
		f := &faces[i]
		if f.Participant == "" && theirs(f) && (s.face == nil || f.Box[2]*f.Box[3] > s.face.Box[2]*s.face.Box[3]) {
			s.face = f
		}
	}
	if s.face != nil {
		s.face.Participant = s.who.Name
	}
}

// expect begins a frame: who is seen elsewhere, or was not seen for long, has left the seat. Time may begin anew.
func (s *seat) expect(faces []ipc.TrackedFace, width, height float64, now int64) {
	if slices.ContainsFunc(faces, func(f ipc.TrackedFace) bool {
		x, y := middle(&f, width, height)
		return f.ID == s.last && !s.holds(x, y, leaning)
	}) {
		s.last = 0
	}
	s.free = s.last == 0 || now-s.seen >= keptNS || now < s.seen
}

// middle is that of a face, in parts of the picture.
func middle(f *ipc.TrackedFace, width, height float64) (x, y float64) {
	return (f.Box[0] + f.Box[2]/2) / width, (f.Box[1] + f.Box[3]/2) / height
}

// rise ends a frame.
func (s *seat) rise(now int64) {
	if s.face != nil {
		s.last, s.seen = s.face.ID, now
	}
	s.face = nil
}

// holds tells whether a place, in parts of the picture, is in the area or not farther beyond it than margin parts of it.
func (s *seat) holds(x, y, margin float64) bool {
	a := s.who.Area
	if len(a) == 0 {
		return false
	}
	dx, dy := margin*(a[2]-a[0]), margin*(a[3]-a[1])
	return a[0]-dx <= x && x <= a[2]+dx && a[1]-dy <= y && y <= a[3]+dy
}
