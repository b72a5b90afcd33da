package tracker

import (
	"math"
	"strconv"
	"strings"
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
	byCamera map[string][]side
}

// side is one participant of a pair, in a camera.
type side struct {
	pair *pair
	side synchrony.Side
	name string // of the participant, or
	id   int    // the number
}

type pair struct {
	env  *stage.Env
	a, b string

	mu     sync.Mutex // the sides may be in cameras of different workers
	both   *synchrony.Pair
	offset int64 // of CLOCK_MONOTONIC to the frames' time
	out    ipc.Synchrony
}

func newPairs(env *stage.Env) (*pairs, error) {
	all := &pairs{cfg: env.Config, byCamera: map[string][]side{}}
	options, err := env.Config.Synchrony.Options()
	if err != nil {
		return nil, err
	}
	for _, who := range env.Config.SynchronyPairs() {
		p := &pair{env: env, a: who[0], b: who[1]}
		p.out = ipc.Synchrony{A: p.a, B: p.b}
		for _, name := range env.Config.Synchrony.Channels {
			p.out.Series = append(p.out.Series, ipc.SynchronySeries{Channel: name})
		}
		p.out.Series = append(p.out.Series, ipc.SynchronySeries{Channel: ipc.SynchronyMean})
		var cameras [2]config.Camera
		for i, name := range who {
			camera, s := all.place(name)
			s.pair, s.side = p, synchrony.Side(i)
			all.byCamera[camera] = append(all.byCamera[camera], s)
			cameras[i] = all.cfg.CameraNamed(camera)
		}
		options.WaitSeconds = wait(cameras)
		if p.both, err = synchrony.New(options, p.give); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const (
	patienceLive    = 0.5 // seconds that frames of one camera may come later than those of another, besides their latencies
	patienceOffline = 30  // recordings that are read as fast as possible are not read in step
)

// wait is how far the frames of one side may be ahead, in seconds: those of a camera with less latency always are.
func wait(of [2]config.Camera) float64 {
	seconds := math.Abs(of[0].LatencyMS-of[1].LatencyMS) / 1000
	if of[0].Name != of[1].Name && (of[0].Pace == "max" || of[1].Pace == "max") {
		return seconds + patienceOffline
	}
	return seconds + patienceLive
}

// place is where a participant is looked for.
func (p *pairs) place(name string) (camera string, s side) {
	for _, who := range p.cfg.Participants {
		if who.Name == name {
			return who.Camera, side{name: name}
		}
	}
	camera, number, _ := strings.Cut(name, ":")
	id, _ := strconv.Atoi(number) // checked by the configuration
	return camera, side{id: id}
}

// add takes the faces of a frame. Its time is when the picture was taken.
func (p *pairs) add(t *ipc.Tracks) {
	sides := p.byCamera[t.Camera]
	if len(sides) == 0 {
		return
	}
	taken := p.cfg.CameraNamed(t.Camera).AcquiredNS(t.TimeNS())
	for _, s := range sides {
		s.pair.add(s.side, taken, t.CaptureNS-t.TimeNS(), s.values(t.Faces))
	}
}

// values are the blendshapes of a side, nil when it is not in the frame.
func (s *side) values(faces []ipc.TrackedFace) []float64 {
	for i := range faces {
		f := &faces[i]
		if s.name != "" && f.Participant == s.name || s.name == "" && f.ID == s.id {
			if len(f.Blendshapes) < len(vision.BlendshapeNames) {
				return nil
			}
			return f.Blendshapes
		}
	}
	return nil
}

func (p *pair) add(to synchrony.Side, taken, offset int64, values []float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offset = offset
	if err := p.both.Add(to, taken, values); err != nil {
		p.env.Log.Warn("frame not compared", "pair", p.a+" "+p.b, "error", err)
	}
}

// give publishes a result.
func (p *pair) give(r synchrony.Result) {
	p.out.FromNS, p.out.ToNS, p.out.CaptureNS = r.FromNS, r.ToNS, r.ToNS+p.offset
	for i := range r.Channels {
		measured(&p.out.Series[i], &r.Channels[i])
	}
	measured(&p.out.Series[len(r.Channels)], &r.Mean)
	if err := p.env.Out.Publish(ipc.SynchronySubject(p.env.Config.Rig, p.a, p.b), &p.out); err != nil {
		p.env.Log.Debug("synchrony not published", "pair", p.a+" "+p.b, "error", err)
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
