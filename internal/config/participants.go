package config

import (
	"fmt"
	"slices"
	"strings"

	"facetrack/ipc"
)

// Participant is a person of a study with a name of their own: who is in a seat, or has a number in a camera.
type Participant struct {
	Name   string `yaml:"name" json:"name"`
	Camera string `yaml:"camera" json:"camera"`
	// Identity is the number that the tracker gives; 0: whoever is in Area, or without that the first person.
	Identity int `yaml:"identity" json:"identity"`
	// Area is left, top, right and bottom of a seat, in parts of the picture's width and height.
	Area []float64 `yaml:"area" json:"area"`
	// InterocularMM is the distance between the person's pupils, by which positions are scaled.
	InterocularMM float64 `yaml:"interocular_mm" json:"interocular_mm"`
}

// InterocularMM is the distance between the pupils of an average adult.
const InterocularMM = 63

// Complete fills in what follows from the cameras; a file may leave these to the command line.
func (c *Config) Complete() {
	for i := range c.Participants {
		p := &c.Participants[i]
		if p.InterocularMM == 0 {
			p.InterocularMM = InterocularMM
		}
		if p.Identity == 0 && len(p.Area) == 0 {
			p.Identity = 1
		}
		if p.Camera == "" && len(c.Cameras) == 1 {
			p.Camera = c.Cameras[0].Name
		}
	}
}

// ParticipantsOf are the named participants of a camera.
func (c Config) ParticipantsOf(camera string) (all []Participant) {
	for _, p := range c.Participants {
		if p.Camera == camera {
			all = append(all, p)
		}
	}
	return all
}

func (c Config) validateParticipants() error {
	names, places := map[string]bool{}, map[string]bool{}
	for i, p := range c.Participants {
		key := fmt.Sprintf("participants[%d]", i)
		place := fmt.Sprint(p.Camera, p.Identity, p.Area)
		switch {
		case !token.MatchString(p.Name):
			return bad(key+".name", p.Name, "1 to 32 of A-Z a-z 0-9 _ -")
		case names[p.Name]:
			return bad(key+".name", p.Name, "a name that nobody else has")
		case len(c.Cameras) > 0 && !c.Has(p.Camera):
			return bad(key+".camera", p.Camera, "one of the cameras' names: "+c.cameraNames())
		case p.Identity != 0 && len(p.Area) != 0:
			return bad(key+".identity", p.Identity, "left out where an area is given")
		case places[place]:
			return bad(key+".identity", p.Identity, "a number, or an area, that nobody else has")
		}
		if err := p.validateArea(key + ".area"); err != nil {
			return err
		}
		names[p.Name], places[place] = true, true
	}
	return nil
}

func (p Participant) validateArea(key string) error {
	a := p.Area
	if len(a) == 0 {
		return nil
	}
	if len(a) != 4 || !(0 <= a[0] && a[0] < a[2] && a[2] <= 1 && 0 <= a[1] && a[1] < a[3] && a[3] <= 1) {
		return bad(key, a, "left, top, right, bottom in parts of the picture, as [0, 0, 0.5, 1] for its left half")
	}
	return nil
}

// Has tells whether a camera of that name is in the configuration.
func (c Config) Has(name string) bool {
	return slices.ContainsFunc(c.Cameras, func(cam Camera) bool { return cam.Name == name })
}

func (c Config) cameraNames() string {
	names := make([]string, len(c.Cameras))
	for i, cam := range c.Cameras {
		names[i] = cam.Name
	}
	return strings.Join(names, ", ")
}

// CameraNamed is the configuration of a camera; one that is not in it has the defaults.
func (c Config) CameraNamed(name string) Camera {
	for _, cam := range c.Cameras {
		if cam.Name == name {
			return cam
		}
	}
	d := DefaultCamera(0)
	d.Name = name
	return d
}

// PlaceOf is where a participant is looked for. Of one who goes by camera and number, as cam0:1, name is empty;
// of one whom other hosts alone name, camera is.
func (c Config) PlaceOf(who string) (camera, name string, id int) {
	if i := c.participantNamed(who); i >= 0 {
		return c.Participants[i].Camera, who, 0
	}
	if c.OnOtherHosts(who) {
		return "", who, 0
	}
	camera, id, _ = ipc.ParseParticipant(who)
	return camera, "", id
}

// participantNamed is the place in the list, -1 when nobody has the name.
func (c Config) participantNamed(name string) int {
	return slices.IndexFunc(c.Participants, func(p Participant) bool { return p.Name == name })
}

// AcquiredNS is when a picture that came at an instant was taken.
func (c Camera) AcquiredNS(ns int64) int64 { return ns - int64(c.LatencyMS*1e6) }
