//go:build e2e

package e2e

import (
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"facetrack/internal/clock"
	"facetrack/internal/stage"
	"facetrack/ipc"
)

// arrivals notes when the first frame that was captured after a given moment comes out at the far end.
type arrivals struct {
	mu    sync.Mutex
	after int64 // CLOCK_MONOTONIC ns
	first time.Time
}

// listen begins to follow the rig's tracks.
func (r *rig) listen() *arrivals {
	r.t.Helper()
	r.eventually("the server answers", func() bool { return r.bus() != nil })
	a := &arrivals{after: math.MaxInt64}
	_, err := r.bus().Subscribe(ipc.AllCameras(r.name, ipc.KindTracks), func(m *nats.Msg) {
		if tracks, err := ipc.DecodeTracks(m.Data); err == nil {
			a.note(tracks.CaptureNS)
		}
	})
	if err == nil {
		err = r.bus().Flush()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (a *arrivals) note(captured int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if captured > a.after && a.first.IsZero() {
		a.first = time.Now()
	}
}

// expect forgets the last moment and takes this one.
func (a *arrivals) expect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after, a.first = clock.Now(), time.Time{}
}

func (a *arrivals) arrived() (at time.Time, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first, !a.first.IsZero()
}

// kill ends a process as kill -9 does and returns how long it took until a frame that was captured later was tracked. What
// lsl-out does is seen in its statistics alone.
func (r *rig) kill(name string, pid int, a *arrivals) (back time.Duration) {
	r.t.Helper()
	r.signal(pid, syscall.SIGKILL)
	killed := time.Now()
	a.expect()
	r.eventually(name+" is back in the flow", func() bool {
		if name == stage.LSLOut {
			s, err := r.service(name, 100*time.Millisecond) // the server may still wait for an answer of the dead
			back = time.Since(killed)
			return err == nil && s.PID != pid && s.Cameras["cam0"].Frames > 0
		}
		at, yes := a.arrived()
		back = at.Sub(killed)
		return yes
	})
	return back
}
