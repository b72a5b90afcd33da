package main

import (
	"encoding/json"
	"sync"
	"time"

	"facetrack/gpuring"
	"facetrack/internal/monitor"
	"facetrack/internal/stage"
	"facetrack/internal/telemetry"
)

// sample is what the rig said of itself and the system says of it at one moment.
type sample struct {
	at     int64 // CLOCK_MONOTONIC ns
	pids   map[string]int
	stages map[string]telemetry.Stats // those that answered
	rings  map[string]ringSample      // by camera
	costs  map[string]Figures         // by stage
}

// ringSample is what capture says of a ring.
type ringSample struct {
	gpuring.Stats
	Ring string `json:"ring"`
}

const (
	sampleEvery = 250 * time.Millisecond
	sampleWait  = 200 * time.Millisecond
)

// sampler looks at the rig until it is closed.
type sampler struct {
	rig *rig
	obs *observer
	bus func() int // its process, 0 while there is none

	mu   sync.Mutex
	all  []sample
	stop chan struct{}
	done chan struct{}
}

func newSampler(r *rig, o *observer, bus func() int) *sampler {
	s := &sampler{rig: r, obs: o, bus: bus, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				s.look()
			}
		}
	}()
	return s
}

func (s *sampler) look() {
	x := sample{at: now(), pids: s.rig.pids(), stages: map[string]telemetry.Stats{}, rings: map[string]ringSample{}, costs: map[string]Figures{}}
	if s.obs.nc.IsConnected() {
		answers, _ := monitor.Status(s.obs.nc, s.rig.name, stage.Names, sampleWait) // those that cannot answer do not count
		for _, a := range answers {
			x.stages[a.Stage] = a
		}
	}
	for camera, c := range x.stages[stage.Capture].Cameras {
		if text, err := json.Marshal(c.Ring); err == nil && c.Ring != nil {
			var r ringSample
			if json.Unmarshal(text, &r) == nil {
				x.rings[camera] = r
			}
		}
	}
	for name, pid := range x.pids {
		if f, ok := figures(pid); ok {
			if a := x.stages[name]; a.PID == pid {
				f.Goroutines = a.Goroutines
			}
			x.costs[name] = f
		}
	}
	if f, ok := figures(s.bus()); ok {
		x.costs[busProcess] = f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, x)
}

const busProcess = "nats-server"

func (s *sampler) last() (sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return sample{}, false
	}
	return s.all[len(s.all)-1], true
}

// close ends looking; the samples may be read after it.
func (s *sampler) close() {
	close(s.stop)
	<-s.done
}
