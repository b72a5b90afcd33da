package streams

import (
	"errors"
	"fmt"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/lsl"
)

// person is a participant with the streams of one.
type person struct {
	camera  *camera
	who     config.Participant
	streams []*personal

	present  bool
	missedNS int64 // when the first frame without them was taken, 0: they are in the last
	missed   uint64
}

// personal is one stream of a participant: a kind, whose rows end with confidence and number of the frame.
type personal struct {
	kind
	stream Stream
	row    []float32
}

// kind is what all participants' streams of a sort have in common.
type kind struct {
	name        string // last word of the stream's name
	contentType string
	channels    []lsl.Channel // without those of book
	setup       func(p *person) *lsl.Setup
	// fill writes a face's values over NaNs, in the order of channels, and tells whether there were any.
	fill func(p *person, row []float32, f *ipc.TrackedFace) bool
}

// book are the last channels of every row of a participant.
var book = []lsl.Channel{
	{Label: "Confidence", Type: "Confidence", Unit: "normalized"},
	{Label: "FrameNumber", Type: "FrameNumber", Unit: "count"},
}

// add opens the streams of a participant. Who gets none, because of the error, is not tried again.
func (c *camera) add(who config.Participant) error {
	p := &person{camera: c, who: who}
	c.people = append(c.people, p)
	kinds := []kind{expression, head, gaze}
	if c.set.mesh {
		kinds = append(kinds, mesh(c.points))
	}
	for _, k := range kinds {
		info := p.info(k)
		stream, err := c.set.start(info)
		if err != nil {
			return err
		}
		p.streams = append(p.streams, &personal{kind: k, stream: stream, row: make([]float32, info.ChannelCount)})
	}
	return nil
}

// key is the participant's name, or camera and number.
func (p *person) key() string {
	if p.who.Name != "" {
		return p.who.Name
	}
	return ipc.Participant(p.camera.cfg.Name, p.who.Identity)
}

// label is the participant in the names of streams, id in their source ids.
func (p *person) label() (label, id string) {
	if p.who.Name != "" {
		return p.who.Name, p.who.Name
	}
	return fmt.Sprintf("%s face %d", p.camera.cfg.Name, p.who.Identity), fmt.Sprintf("%s:face:%d", p.camera.cfg.Name, p.who.Identity)
}

// row sends the row of a frame on each stream; a nil face is a frame without the participant.
func (p *person) row(ts float64, seq uint64, f *ipc.TrackedFace) error {
	var errs []error
	for _, s := range p.streams {
		for i := range s.row {
			s.row[i] = nan
		}
		values, end := s.row[:len(s.channels)], s.row[len(s.channels):]
		end[0], end[1] = 0, float32(seq)
		if f != nil && s.fill(p, values, f) {
			end[0] = float32(f.Score)
		}
		errs = append(errs, s.stream.Push(ts, s.row))
	}
	return errors.Join(errs...)
}

// metres scales a position of the tracker's, in cm, by the distance of the pupils; known is false where the field of view is not known.
func (p *person) metres() (scale float64, known bool) {
	return p.who.InterocularMM / p.camera.points.InterocularMM / 100, p.camera.cfg.HFOV > 0
}
