package landmarks

import (
	"sync"

	"facetrack/ipc"
)

// feedback keeps the tracker's last message of each camera, undecoded: it is needed only after a restart.
type feedback struct {
	mu   sync.Mutex
	last map[string][]byte
}

func newFeedback() *feedback { return &feedback{last: map[string][]byte{}} }

func (f *feedback) keep(data []byte) {
	frame, err := ipc.PeekFrame(data)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[frame.Camera] = data
}

// take decodes the last message of a camera; nil when there is none.
func (f *feedback) take(camera string) *ipc.Tracks {
	f.mu.Lock()
	data := f.last[camera]
	f.mu.Unlock()
	if data == nil {
		return nil
	}
	tracks, err := ipc.DecodeTracks(data)
	if err != nil {
		return nil
	}
	return &tracks
}

// forget gives up the last message of a camera.
func (f *feedback) forget(camera string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.last, camera)
}
