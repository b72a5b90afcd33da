package streams

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"facetrack/internal/config"
	"facetrack/ipc"
	"facetrack/lsl"
)

// ErrTooMany says that somebody gets no stream; the limit is lsl.max_slots of the configuration.
var ErrTooMany = errors.New("no more streams")

// Sink opens streams.
type Sink interface {
	Open(info lsl.StreamInfo) (Stream, error)
}

// Stream takes rows. [lsl.Outlet] and the streams of package xdf are some.
type Stream interface {
	Push(ts float64, values []float32) error
	PushString(ts float64, values ...string) error
	Close() error
}

// Set is all streams of a rig. It is safe for concurrent use.
type Set struct {
	cfg  config.Config
	mesh bool // of cfg
	sink Sink
	log  *slog.Logger

	host    string // in all source ids: another machine may have a rig of the same name
	mu      sync.Mutex
	open    []Stream
	cameras map[string]*camera
	ends    map[string]ipc.End // said by capture of cameras whose last frame is still on its way
	media   mediaClock
	events  Stream
	pairs   map[[2]string]*pair
}

// New opens the streams of events and synchrony; those of participants open with the first frame of their camera.
func New(cfg config.Config, sink Sink, log *slog.Logger) (*Set, error) {
	s := &Set{cfg: cfg, mesh: cfg.LSL.Mesh, sink: sink, log: log, cameras: map[string]*camera{}, ends: map[string]ipc.End{}, pairs: map[[2]string]*pair{}}
	var err error
	if s.host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("source ids of streams: %w", err)
	}
	if s.events, err = s.start(s.eventsInfo()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, p := range cfg.SynchronyPairs() {
		if s.pairs[p], err = s.openPair(p); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Configure takes over what may change while streams are open: the cameras, and and lsl.max_slots.
func (s *Set) Configure(cfg config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Cameras, s.cfg.LSL.MaxSlots = cfg.Cameras, cfg.LSL.MaxSlots
	for _, c := range s.cameras {
		c.full = false
	}
}

// Forget closes the streams of a camera that is not to come again.
func (s *Set) Forget(camera string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cameras[camera]
	if c == nil {
		return nil
	}
	errs := []error{c.lose("removed")}
	delete(s.cameras, camera)
	delete(s.ends, camera)
	for _, p := range c.people {
		for _, k := range p.streams {
			errs = append(errs, k.stream.Close())
			s.open = slices.DeleteFunc(s.open, func(o Stream) bool { return o == k.stream })
		}
	}
	return errors.Join(errs...)
}

func (s *Set) start(info lsl.StreamInfo) (Stream, error) {
	info.SessionID = s.cfg.LSL.SessionID
	info.SourceID = fmt.Sprintf("facetrack:%s:%s:%s", s.host, s.cfg.Rig, info.SourceID)
	stream, err := s.sink.Open(info)
	if err != nil {
		return nil, fmt.Errorf("stream %q: %w", info.Name, err)
	}
	s.open = append(s.open, stream)
	return stream, nil
}

// Tracks makes a row of each stream of the frame's camera. ErrTooMany when somebody in it has none; all others' rows are made.
func (s *Set) Tracks(t *ipc.Tracks) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.camera(t)
	return errors.Join(err, c.admit(t), c.rows(t))
}

// Close closes all streams.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, e := range s.ends { // the last frame was dropped, or is late
		if c := s.cameras[name]; c != nil {
			errs = append(errs, c.lose(e.Reason))
		}
	}
	clear(s.ends)
	for _, stream := range s.open {
		errs = append(errs, stream.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
