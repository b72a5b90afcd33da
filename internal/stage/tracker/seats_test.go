package tracker

import (
	"maps"
	"testing"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// seen is a face with its middle at a place in a picture of 100×100 px, size px wide and high.
func seen(id int, x, y, size float64) ipc.TrackedFace {
	return ipc.TrackedFace{ID: id, Box: [4]float64{x - size/2, y - size/2, size, size}}
}

func at50(id int, x float64) ipc.TrackedFace { return seen(id, x, 50, 10) }

// who is the number of each participant in a frame so long after the one before that nobody is waited for.
func (s seats) who(t *testing.T, faces ...ipc.TrackedFace) map[string]int {
	t.Helper()
	latest := int64(0)
	for i := range s {
		latest = max(latest, s[i].seen)
	}
	return s.at(t, latest+keptNS, faces...)
}

// at is the number of each participant in a frame of that time.
func (s seats) at(t *testing.T, now int64, faces ...ipc.TrackedFace) map[string]int {
	t.Helper()
	s.name(faces, 100, 100, now)
	got := map[string]int{}
	for _, f := range faces {
		if f.Participant == "" {
			continue
		}
		if got[f.Participant] != 0 {
			t.Errorf("%s is %d and %d", f.Participant, got[f.Participant], f.ID)
		}
		got[f.Participant] = f.ID
	}
	return got
}

// expect sends one frame.
func (s seats) expect(t *testing.T, want map[string]int, faces ...ipc.TrackedFace) {
	t.Helper()
	if got := s.who(t, faces...); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

type named = map[string]int

func byNumber(name string, id int) config.Participant {
	return config.Participant{Name: name, Identity: id}
}

func inArea(name string, area ...float64) config.Participant {
	return config.Participant{Name: name, Area: area}
}

func TestParticipantsByNumber(t *testing.T) {
	s := newSeats([]config.Participant{byNumber("mother", 1), byNumber("child", 3)})
	s.expect(t, named{"mother": 1}, at50(2, 80), at50(1, 20))
	s.expect(t, named{"mother": 1, "child": 3}, at50(3, 5), at50(1, 95), at50(2, 50))
	s.expect(t, named{})
	s.expect(t, named{"child": 3}, at50(3, 5))
}

// A face belongs to a seat when its middle does, edges included; the largest is meant, until it leaves.
func TestParticipantInAnArea(t *testing.T) {
	s := newSeats([]config.Participant{inArea("mother", 0.2, 0.1, 0.6, 0.9)})
	for _, f := range []ipc.TrackedFace{seen(1, 19.9, 50, 10), seen(1, 60.1, 50, 10), seen(1, 40, 9.9, 10), seen(1, 40, 90.1, 10)} {
		s.expect(t, named{}, f)
	}
	for _, f := range []ipc.TrackedFace{seen(1, 20, 10, 10), seen(2, 60, 90, 90)} {
		s.expect(t, named{"mother": f.ID}, f)
	}
	s = newSeats([]config.Participant{inArea("mother", 0, 0, 0.5, 1)})
	s.expect(t, named{"mother": 2}, seen(1, 10, 50, 10), seen(2, 30, 50, 12), seen(3, 80, 50, 40))
	s.expect(t, named{"mother": 2}, seen(1, 10, 50, 30), seen(2, 30, 50, 12)) // somebody comes nearer
	s.expect(t, named{"mother": 1}, seen(1, 10, 50, 30), seen(2, 80, 50, 12))
}

// Who sits in an area may lean out by a tenth of it; who comes may not.
func TestLeaningOut(t *testing.T) {
	s := newSeats([]config.Participant{inArea("mother", 0, 0.5, 0.5, 1)})
	s.expect(t, named{}, seen(1, 52, 75, 10))
	s.expect(t, named{"mother": 1}, seen(1, 49, 75, 10))
	s.expect(t, named{"mother": 1}, seen(1, 54.9, 45.1, 10))
	s.expect(t, named{"mother": 1}, seen(1, 54.9, 75, 10), seen(2, 25, 75, 60)) // a visitor in the seat does not take it
	s.expect(t, named{})                                                        // not found for a moment
	s.expect(t, named{"mother": 1}, seen(1, 54, 75, 10))
	s.expect(t, named{}, seen(1, 55.1, 75, 10))
	s.expect(t, named{}, seen(1, 54, 75, 10)) // once out, they have to come in again
	s.expect(t, named{"mother": 1}, seen(1, 50, 75, 10))
}

// A seat is kept for a second for somebody who is not seen, behind a hand for instance, while an experimenter is in the area.
func TestSeatsAreKept(t *testing.T) {
	s := newSeats([]config.Participant{inArea("mother", 0, 0, 0.5, 1)})
	const frame = keptNS / 30
	mother, other := seen(1, 20, 50, 10), seen(3, 30, 50, 40)
	for n, c := range []struct {
		now   int64
		faces []ipc.TrackedFace
		want  int
	}{
		{0, []ipc.TrackedFace{mother}, 1},
		{frame, []ipc.TrackedFace{mother, other}, 1},
		{2 * frame, []ipc.TrackedFace{other}, 0},
		{frame + keptNS - 1, []ipc.TrackedFace{other}, 0},
		{frame + keptNS - 1, []ipc.TrackedFace{mother, other}, 1},
		{frame + 2*keptNS - 1, []ipc.TrackedFace{other}, 3}, // she has left
		{frame + 2*keptNS, []ipc.TrackedFace{mother, other}, 3},
		{3 * frame, []ipc.TrackedFace{mother}, 1},                     // a recording that begins anew
		{4 * frame, []ipc.TrackedFace{seen(1, 80, 50, 10), other}, 3}, // she is seen elsewhere: nobody is waited for
	} {
		if got := s.at(t, c.now, c.faces...)["mother"]; got != c.want {
			t.Errorf("frame %d: mother is %d, want %d", n, got, c.want)
		}
	}
}

// One picture, two seats: whoever changes the seat changes the name, and does so once, whatever the order of the seats.
func TestChangeOfSeats(t *testing.T) {
	left, right := inArea("left", 0, 0, 0.5, 1), inArea("right", 0.5, 0, 1, 1)
	for _, s := range []seats{newSeats([]config.Participant{left, right}), newSeats([]config.Participant{right, left})} {
		s.expect(t, named{"left": 1, "right": 2}, at50(1, 20), at50(2, 80))
		s.expect(t, named{"left": 1}, at50(1, 48))
		s.expect(t, named{"left": 1}, at50(1, 53)) // leans over
		s.expect(t, named{"left": 1, "right": 2}, at50(1, 54), at50(2, 80))
		s.expect(t, named{"right": 1}, at50(1, 56))
		s.expect(t, named{"right": 1}, at50(1, 53)) // sits on the right now, and leans back
		s.expect(t, named{"right": 1}, at50(1, 46))
		s.expect(t, named{"left": 1}, at50(1, 44))
		s.expect(t, named{"left": 2, "right": 1}, at50(2, 20), at50(1, 80))
	}
}

// Two people pass each other: nobody has two names, and no name two people.
func TestSeatsAreExclusive(t *testing.T) {
	s := newSeats([]config.Participant{inArea("left", 0, 0, 0.6, 1), inArea("right", 0.4, 0, 1, 1)})
	s.expect(t, named{"left": 1}, at50(1, 50)) // in both: the first
	s.expect(t, named{"left": 1, "right": 2}, at50(2, 50), at50(1, 50))
	for x := 50.0; x <= 80; x += 5 {
		s.who(t, at50(1, x), at50(2, 130-x))
	}
	s.expect(t, named{"left": 2, "right": 1}, at50(1, 80), at50(2, 20))
}

// Who is meant by number is nobody in an area, even if the area comes first.
func TestNumbersComeBeforeAreas(t *testing.T) {
	s := newSeats([]config.Participant{inArea("visitor", 0, 0, 1, 1), byNumber("child", 1)})
	s.expect(t, named{"child": 1}, seen(1, 50, 50, 60))
	s.expect(t, named{"child": 1, "visitor": 4}, seen(1, 50, 50, 60), seen(4, 50, 50, 10))
	s.expect(t, named{"visitor": 4}, seen(4, 50, 50, 10))
}

func TestNobodyIsNamed(t *testing.T) {
	faces := []ipc.TrackedFace{at50(1, 50)}
	if newSeats(nil).name(faces, 100, 100, 0); faces[0].Participant != "" {
		t.Errorf("%+v", faces[0])
	}
}

// The tracks say who is who, from the first frame in which somebody has a number, and only of who is in a seat.
func TestTracksNameParticipants(t *testing.T) {
	r := newRig(t)
	r.cfg.Cameras = []config.Camera{{Name: "table"}, {Name: "door"}}
	r.cfg.Participants = []config.Participant{
		{Name: "mother", Camera: "table", Area: []float64{0, 0, 0.5, 1}}, {Name: "child", Camera: "table", Area: []float64{0.6, 0, 1, 1}},
		{Name: "visitor", Camera: "door", Identity: 2},
	}
	r.start()
	var table, door ipc.Tracks
	for n := range 5 {
		table = r.send(frame("table", n), face(480, 240), face(160, 240), face(350, 100))
		door = r.send(frame("door", n), face(480, 240), face(160, 240))
	}
	if len(table.Faces) != 3 || len(door.Faces) != 2 {
		t.Fatalf("%d and %d faces", len(table.Faces), len(door.Faces))
	}
	for _, f := range table.Faces {
		want := map[bool]string{true: "mother", false: "child"}[f.Box[0] < 200]
		if f.Box[1] < 100 {
			want = "" // between the seats
		}
		if f.Participant != want {
			t.Errorf("%q is at %v, want %q", f.Participant, f.Box, want)
		}
	}
	for _, f := range door.Faces {
		if (f.Participant == "visitor") != (f.ID == 2) {
			t.Errorf("number %d is %q", f.ID, f.Participant)
		}
	}
}
