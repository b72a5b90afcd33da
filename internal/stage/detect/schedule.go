package detect

import (
	"sync"

	"facetrack/internal/config"
	"facetrack/ipc"
)

// schedule says which frames of a camera are looked at: beside the first one, every k-th, by their numbers, and those of one
// camera at other numbers than those of the next. Cameras that run in step are then not all looked at at once.
// It is safe for concurrent use.
type schedule struct {
	mu     sync.Mutex
	every  uint64
	phase  map[string]uint64 // of each camera
	next   map[string]uint64 // first sequence number that is due
	lastNS map[string]int64  // time of the last frame, see ipc.Frame.TimeNS
}

func newSchedule(every int, cameras []config.Camera) *schedule {
	s := &schedule{next: map[string]uint64{}, lastNS: map[string]int64{}}
	s.set(every, cameras)
	return s
}

// set changes the distance of the frames that are looked at, and the cameras.
func (s *schedule) set(every int, cameras []config.Camera) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every, s.phase = uint64(max(1, every)), map[string]uint64{} //nolint:gosec // at least 1
	for i, c := range cameras {
		s.phase[c.Name] = uint64(i) % s.every //nolint:gosec // an index
	}
}

// forget gives up what is known of a camera.
func (s *schedule) forget(camera string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.next, camera)
	delete(s.lastNS, camera)
}

// turn tells whether a frame is to be looked at: when it is due, or when its camera's faces cannot have been
// followed from the frame before.
func (s *schedule) turn(f *ipc.Frame) bool {
	s.mu.Lock()
	if f.TimeNS()-s.lastNS[f.Camera] > ipc.FollowNS {
		s.next[f.Camera] = 0
	}
	s.lastNS[f.Camera] = f.TimeNS()
	s.mu.Unlock()
	return s.due(f.Camera, f.Seq)
}

// skip notes a frame that is not looked at.
func (s *schedule) skip(f *ipc.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastNS[f.Camera] = f.TimeNS()
}

// due tells whether a sequence number is to be looked at, and if so when the next one is.
func (s *schedule) due(camera string, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isDue(camera, seq) {
		return false
	}
	s.next[camera] = seq + s.every - (seq+s.every-s.phase[camera])%s.every
	return true
}

func (s *schedule) isDue(camera string, seq uint64) bool {
	next := s.next[camera]
	return seq >= next || next-seq > s.every // further back: the camera's numbers began anew
}

// idle tells whether a frame will, as things stand, only be passed on.
func (s *schedule) idle(f ipc.Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.TimeNS()-s.lastNS[f.Camera] <= ipc.FollowNS && !s.isDue(f.Camera, f.Seq)
}

// lost makes the camera's next frame due.
func (s *schedule) lost(camera string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[camera] = 0
}
