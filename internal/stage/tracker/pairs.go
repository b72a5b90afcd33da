package tracker

import (
	"errors"
	"math"
	"sync"

	"facetrack/internal/config"
	"facetrack/internal/stage"
	"facetrack/ipc"
	"facetrack/track/synchrony"
	"facetrack/vision"
)

// pairs compare the expressions of participants and publish what comes of it.
type pairs struct {
	cfg      config.Config
	byCamera map[string][]*side
	others   []*side // whom other hosts name: any camera there may see them
}

// side is one participant of a pair, in a camera.
type side struct {
	pair *pair
	side synchrony.Side
	name string // of the participant, or
	id   int    // the number
	// Of somebody whom several cameras may see: the one that does now, and when it did last. The pair's lock guards both.
	many   bool
	at     string
	seenNS int64
}

type pair struct {
	env *stage.Env

	mu       sync.Mutex // the sides may be in cameras of different workers
	options  synchrony.Options
	both     *synchrony.Pair
	late     bool  // it was said that frames come too late
	recorded bool  // frames have a time of their own
	offset   int64 // of CLOCK_MONOTONIC to the frames' time
	out      ipc.Synchrony
}

func newPairs(env *stage.Env) (*pairs, error) {
	all := &pairs{cfg: env.Config, byCamera: map[string][]*side{}}
	options, err := env.Config.Synchrony.Options()
	if err != nil {
		return nil, err
	}
	for _, who := range env.Config.SynchronyPairs() {
		p := &pair{env: env, out: ipc.Synchrony{A: who[0], B: who[1]}}
		for _, name := range env.Config.Synchrony.Channels {
			p.out.Series = append(p.out.Series, ipc.SynchronySeries{Channel: name})
		}
		p.out.Series = append(p.out.Series, ipc.SynchronySeries{Channel: ipc.SynchronyMean})
		var cameras [2]config.Camera
		afar := false
		for i, name := range who {
			s := &side{pair: p, side: synchrony.Side(i)}
			var camera string
			camera, s.name, s.id = all.cfg.PlaceOf(name)
			if camera != "" {
				all.byCamera[camera] = append(all.byCamera[camera], s)
			}
			if s.many = s.name != "" && all.cfg.OnOtherHosts(s.name); s.many {
				all.others = append(all.others, s)
			}
			_, _, elsewhere := ipc.ParsePlace(camera)
			afar = afar || elsewhere || s.many
			cameras[i] = all.cfg.CameraNamed(camera)
		}
		options.WaitSeconds = patienceLive + math.Abs(cameras[0].LatencyMS-cameras[1].LatencyMS)/1000
		if afar {
			options.WaitSeconds += patienceHosts
		}
		p.options = options
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// tooLate is the number of frames after which it is told that they come too late: some do when a rig starts.
const tooLate = 100

// How far one side may be ahead, in seconds, before what the other one has not sent counts as missing.
const (
	patienceLive     = 0.5 // and the difference of the cameras' latencies
	patienceHosts    = 1   // more, where one of them is on another host: what its cameras' latencies and the way take
	patienceRecorded = 30  // more: recordings begin at different instants, and are read at different speeds
)

// String names the pair in logs.
func (p *pair) String() string { return p.out.A + " " + p.out.B }

// begin starts the comparison anew.
func (p *pair) begin() error {
	both, err := synchrony.New(p.options, p.give)
	if err == nil {
		p.both = both
	}
	return err
}

// add takes the faces of a frame. Its time is when the picture was taken.
func (p *pairs) add(t *ipc.Tracks) {
	sides := p.byCamera[t.Camera]
	if len(sides) == 0 {
		return
	}
	taken := p.cfg.CameraNamed(t.Camera).AcquiredNS(t.TimeNS())
	for _, s := range sides {
		s.add(t.Camera, t, taken)
	}
}

// addOther takes the faces of a frame of another host, whose times are on this one's clock.
func (p *pairs) addOther(place string, t *ipc.Tracks, taken int64) {
	for _, s := range p.byCamera[place] {
		s.add(place, t, taken)
	}
	for _, s := range p.others {
		s.add(place, t, taken)
	}
}

// add takes a frame of a camera that may see the side. Of somebody whom several cameras see, the frames of one count, for as long as it does.
func (s *side) add(place string, t *ipc.Tracks, taken int64) {
	s.pair.mu.Lock()
	defer s.pair.mu.Unlock()
	values := s.values(t.Faces)
	if s.many {
		if place != s.at && (values == nil || s.at != "" && taken-s.seenNS < keptNS) {
			return
		}
		if values != nil {
			s.at, s.seenNS = place, taken
		}
	}
	s.pair.add(s.side, &t.Frame, taken, values)
}

// values are the blendshapes of a side, nil when it is not in the frame.
func (s *side) values(faces []ipc.TrackedFace) []float64 {
	f := ipc.FindParticipant(faces, s.name, s.id)
	if f == nil || len(f.Blendshapes) < len(vision.BlendshapeNames) {
		return nil
	}
	return f.Blendshapes
}

// add takes a frame of a side. The caller holds mu.
func (p *pair) add(to synchrony.Side, f *ipc.Frame, taken int64, values []float64) {
	var err error
	if f.MediaNS > 0 && !p.recorded {
		p.recorded = true
		p.options.WaitSeconds += patienceRecorded
		err = p.begin()
	}
	p.offset = f.CaptureNS - f.TimeNS()
	if err = errors.Join(err, p.both.Add(to, taken, values)); err != nil {
		p.env.Log.Warn("frame not compared", "pair", p.String(), "error", err)
	}
	if s := p.both.Stats(); !p.late && s.Late[0]+s.Late[1] >= tooLate {
		p.late = true
		p.env.Log.Warn("a camera is so far behind the other that its frames are not compared; are both live, or both recordings of one length?",
			"pair", p.String(), "late_a", s.Late[0], "late_b", s.Late[1])
	}
}

// give publishes a result.
func (p *pair) give(r synchrony.Result) {
	p.out.FromNS, p.out.ToNS, p.out.CaptureNS = r.FromNS, r.ToNS, r.ToNS+p.offset
	for i := range r.Channels {
		measured(&p.out.Series[i], &r.Channels[i])
	}
	measured(&p.out.Series[len(r.Channels)], &r.Mean)
	if err := p.env.Out.Publish(ipc.SynchronySubject(p.env.Config.Rig, p.out.A, p.out.B), &p.out); err != nil {
		p.env.Log.Debug("synchrony not published", "pair", p.String(), "error", err)
	}
}

func measured(to *ipc.SynchronySeries, s *synchrony.Synchrony) {
	to.Value, to.Transient = lagged(s.Value), lagged(s.Transient)
	to.Sustained = ipc.SynchronyAtLevel{R: ipc.Number(s.Sustained.R), Valid: s.Sustained.Valid}
}

func lagged(l synchrony.Lagged) ipc.SynchronyLagged {
	return ipc.SynchronyLagged{R: ipc.Number(l.R), Nearest: peak(l.Nearest), Highest: peak(l.Highest), Valid: l.Valid}
}

func peak(p synchrony.Peak) ipc.SynchronyPeak {
	return ipc.SynchronyPeak{R: ipc.Number(p.R), LagS: ipc.Number(p.LagSeconds)}
}
